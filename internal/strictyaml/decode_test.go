package strictyaml_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/internal/strictyaml"
)

// form has a value of each kind.
type form struct {
	Name  string            `yaml:"name"`
	Count *int              `yaml:"count"`
	List  []string          `yaml:"list"`
	Texts map[string]string `yaml:"texts"`
}

func decode(text string) *strictyaml.Problems {
	var f form
	return strictyaml.Decode([]byte(text), &f, func(path string) bool { return strings.HasPrefix(path, "texts.") })
}

func TestProblemsStandWhereTheValueDoes(t *testing.T) {
	t.Parallel()
	p := decode("texts: {a: \"1\\n2\"}\nlist: [a, ~]\nname: \"1\\n2\"\n")
	p.Report("list[0]", "is no word")
	p.Report("list[1]", "is not told twice")
	p.Override("count", "COUNT")
	p.Report("count", "is odd")
	want := []strictyaml.Problem{
		{Place: strictyaml.Place{Variable: "COUNT"}, Key: "count", Text: "is odd"},
		{Place: strictyaml.Place{Line: 2, Column: 8}, Key: "list.0", Text: "is no word"},
		{Place: strictyaml.Place{Line: 2, Column: 11}, Key: "list.1", Text: "is empty"},
		{Place: strictyaml.Place{Line: 3, Column: 7}, Key: "name", Text: "must be one line"},
	}
	got := p.Sorted()
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
}

// TestPlaces: a value comes from its own place, and from the variables that set parts of it.
func TestPlaces(t *testing.T) {
	t.Parallel()
	p := decode("list: [a, b]\nname: x\n")
	p.Override("list.1", "SECOND")
	p.Override("name", "NAME")
	want := map[string][]strictyaml.Place{"list": {{Line: 1, Column: 1}, {Variable: "SECOND"}}, "name": {{Variable: "NAME"}}, "count": nil}
	for key, places := range want {
		if got := p.Places(key); !slices.Equal(got, places) {
			t.Errorf("%s: %+v, want %+v", key, got, places)
		}
	}
}

// TestOpenBracketsAreBounded: the parser's time grows with the square of their depth.
func TestOpenBracketsAreBounded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]strictyaml.Place{
		"name: a\nlist: " + strings.Repeat("[", 1<<20): {Line: 2, Column: 107},
		strings.Repeat("{a: ", 1<<18):                  {Line: 1, Column: 401},
	} {
		p := decode(text)
		if got := p.Sorted(); len(got) != 1 || got[0].Place != want || !strings.Contains(got[0].Text, "100 brackets") {
			t.Errorf("%.20q: %+v", text, got)
		}
	}
	if p := decode("list: [" + strings.TrimSuffix(strings.Repeat("\"[]\", ", 1000), ", ") + "]"); len(p.Sorted()) > 0 {
		t.Errorf("brackets that are closed again: %+v", p.Sorted())
	}
}
