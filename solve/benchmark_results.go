package solve

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Result is how one run of a model on one instance of a benchmark ended.
type Result struct {
	Instance string
	Model    string
	Solved   bool
	Cost     Money
	// Duration is 0 where it is not known.
	Duration time.Duration
	// Temperature is nil where it is not known.
	Temperature *float64
}

// Results are published results for each instance, to try a plan on; see [Simulate].
type Results struct {
	// Instances are in the order of the file, each once.
	Instances []string
	// Models likewise.
	Models []string
	// Temperatures says that results tell them.
	Temperatures bool
	// Durations says that every result has one.
	Durations bool

	byCell map[resultKey][]Result
}

// resultKey is where a result is looked up. Several results of one cell are its repeats.
type resultKey struct{ instance, model, temperature string }

// maxResults is how many results are read.
const maxResults = 1_000_000

// ReadResults reads a CSV file (RFC 4180) with a line of names: instance, model, resolved
// (true, false, 1, 0) and usd, and if they are known seconds and temperature; other
// columns are not read. Several lines with the same instance, model and temperature are
// its repeats. The error names the line.
func ReadResults(data []byte) (Results, error) {
	in := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))
	in.ReuseRecord = true
	head, err := in.Read()
	if err != nil {
		return Results{}, fmt.Errorf("read results: no line of names: %w", err)
	}
	columns, err := resultColumns(head)
	if err != nil {
		return Results{}, fmt.Errorf("read results: line 1: %w", err)
	}
	_, temps := columns["temperature"]
	res := Results{Temperatures: temps, Durations: true, byCell: map[resultKey][]Result{}}
	seen := map[string]bool{}
	for n := 0; ; n++ {
		row, err := in.Read()
		switch {
		case errors.Is(err, io.EOF) && n == 0:
			return Results{}, errors.New("read results: there are none")
		case errors.Is(err, io.EOF):
			return res, nil
		case err != nil:
			return Results{}, fmt.Errorf("read results: %w", err)
		case n == maxResults:
			return Results{}, fmt.Errorf("read results: more than %d", maxResults)
		}
		one, err := readResult(columns, row)
		if err != nil {
			line, _ := in.FieldPos(0)
			return Results{}, fmt.Errorf("read results: line %d: %w", line, err)
		}
		res.add(one, seen)
	}
}

// resultColumns finds the columns by their names.
func resultColumns(head []string) (map[string]int, error) {
	columns := map[string]int{}
	for i, name := range head {
		name = strings.ToLower(strings.TrimSpace(name))
		if _, twice := columns[name]; twice {
			return nil, fmt.Errorf("column %q is there twice", name)
		}
		columns[name] = i
	}
	var missing []string
	for _, name := range []string{"instance", "model", "resolved", "usd"} {
		if _, ok := columns[name]; !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the column %s is missing; there must be instance, model, resolved and usd", strings.Join(missing, ", "))
	}
	return columns, nil
}

func readResult(columns map[string]int, row []string) (Result, error) {
	field := func(name string) string {
		if i, ok := columns[name]; ok {
			return strings.TrimSpace(row[i])
		}
		return ""
	}
	r := Result{Instance: strings.Clone(field("instance")), Model: strings.Clone(field("model"))}
	if r.Instance == "" || r.Model == "" {
		return r, errors.New("instance or model is empty")
	}
	var err error
	if r.Solved, err = strconv.ParseBool(strings.ToLower(field("resolved"))); err != nil {
		return r, fmt.Errorf("resolved is %q, neither true nor false", Clip(field("resolved"), 20))
	}
	usd, err := strconv.ParseFloat(field("usd"), 64)
	if err != nil || !(usd >= 0 && usd <= 1e6) {
		return r, fmt.Errorf("usd is %q, no amount of 0 to 1000000", Clip(field("usd"), 20))
	}
	r.Cost = Money(math.Round(usd * 1e6))
	if text := field("seconds"); text != "" {
		s, err := strconv.ParseFloat(text, 64)
		if err != nil || !(s > 0 && s <= 1e7) {
			return r, fmt.Errorf("seconds is %q, no time of more than 0", Clip(text, 20))
		}
		r.Duration = time.Duration(s * float64(time.Second))
	}
	if text := field("temperature"); text != "" {
		t, err := strconv.ParseFloat(text, 64)
		if err != nil || !(t >= 0 && t <= 2) {
			return r, fmt.Errorf("temperature is %q, none of 0 to 2", Clip(text, 20))
		}
		r.Temperature = &t
	}
	return r, nil
}

func (r *Results) add(one Result, seen map[string]bool) {
	if !seen["i "+one.Instance] {
		seen["i "+one.Instance] = true
		r.Instances = append(r.Instances, one.Instance)
	}
	if !seen["m "+one.Model] {
		seen["m "+one.Model] = true
		r.Models = append(r.Models, one.Model)
	}
	r.Durations = r.Durations && one.Duration > 0
	at := resultKeyOf(one.Instance, one.Model, one.Temperature)
	r.byCell[at] = append(r.byCell[at], one)
}

func resultKeyOf(instance, model string, t *float64) resultKey {
	c := resultKey{instance: instance, model: model}
	if t != nil {
		c.temperature = formatTemp(*t)
	}
	return c
}

// of is the result of an experiment on an instance: that of its repeat.
func (r Results) of(instance string, x Experiment) (Result, error) {
	list := r.byCell[resultKeyOf(instance, x.Model, x.Temperature)]
	switch {
	case len(list) >= x.Repeat && x.Repeat > 0:
		return list[x.Repeat-1], nil
	case !slices.Contains(r.Models, x.Model):
		return Result{}, fmt.Errorf("the file has no results of model %s; it has those of %s", x.Model, strings.Join(r.Models, ", "))
	case len(list) == 0:
		return Result{}, fmt.Errorf("the file has no result of %s on %s", withTemperature(x), instance)
	}
	return Result{}, fmt.Errorf("repeat=%d needs as many results of %s on %s; the file has %d",
		x.Repeat, withTemperature(x), instance, len(list))
}

func withTemperature(x Experiment) string {
	if x.Temperature == nil {
		return "model " + x.Model
	}
	return fmt.Sprintf("model %s at temperature %s", x.Model, formatTemp(*x.Temperature))
}
