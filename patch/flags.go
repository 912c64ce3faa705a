package patch

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// rule is one kind of change that people should look at before they merge.
type rule struct {
	words string // before the names
	// find names what is of this kind: of a file's path, or of the whole difference.
	path func(p string) bool
	find func(d Difference) []string
	most int // names that are told, if not 10
}

// rules are all kinds, in the order in which people read them.
func rules() []rule {
	return []rule{
		{words: "changes who must approve:", path: isCodeOwners},
		{words: "touches files that instruct coding agents:", path: isInstruction},
		{words: "touches .github:", path: func(p string) bool {
			return inDir(p, ".github") && !isInstruction(p) && !isCodeOwners(p)
		}},
		{words: "touches what CI runs:", path: named(ciFiles())},
		{words: "touches what editors, shells or hooks run by themselves:", path: named(autoRunFiles())},
		{words: "changes scripts that run at install:", find: each(changesInstallScripts)},
		{words: "changes where packages come from:", path: named(registryFiles())},
		{words: "names new hosts for packages:", find: each(newHosts), most: 30},
		{words: "adds dependencies:", find: each(newDependencies), most: 30},
		{words: "has a path that differs from another in case only:", find: caseTwins},
		{words: "adds lines with invisible characters, or some that turn the direction of text:", find: adding(misleads)},
		{words: "adds what looks like a secret:", find: adding(LooksSecret)},
		{words: "changes how git treats files:", path: func(p string) bool { return strings.EqualFold(path.Base(p), ".gitattributes") }},
		{words: "new binary files:", find: changed(func(c solve.FileChange) bool { return c.Binary && c.Op == "add" })},
		{words: "binary files:", find: changed(func(c solve.FileChange) bool { return c.Binary && c.Op != "add" })},
		{words: "symlinks:", find: changed(func(c solve.FileChange) bool { return c.Mode == modeLink })},
		{words: "generated or vendored code:", find: generated},
		{words: "test configuration:", path: IsTestConfig},
		{words: "build configuration:", path: named(buildFiles())},
	}
}

// maxName is the most of one name in a flag, in characters: a longer one would push the rest out of the pull request.
const maxName = 200

// flagsOf lists what people should look at, one entry for each kind.
func flagsOf(d Difference) ([]string, error) {
	if _, err := parseDiff(d.Text); err != nil {
		return nil, err
	}
	var out []string
	for _, r := range rules() {
		find := r.find
		if r.path != nil {
			find = changed(func(c solve.FileChange) bool { return slices.ContainsFunc(pathsOf(c), r.path) })
		}
		if names := find(d); len(names) > 0 {
			for i, name := range names {
				names[i] = solve.Clip(solve.OneLine(name), maxName)
			}
			out = append(out, r.words+" "+solve.ListWords(names, cmp.Or(r.most, 10)))
		}
	}
	return out, nil
}

// changed finds the paths of the changes that are of a kind.
func changed(is func(solve.FileChange) bool) func(Difference) []string {
	return func(d Difference) []string {
		var out []string
		for _, c := range d.Changes {
			if is(c) {
				out = append(out, c.Path)
			}
		}
		return out
	}
}

// each asks every file of the resulting tree, with what it held before, where it was then, and what it holds.
func each(names func(p string, before, after []byte) []string) func(Difference) []string {
	return func(d Difference) []string {
		var out []string
		for _, c := range d.Changes {
			if c.Op != "delete" && c.Mode != modeLink {
				out = append(out, names(c.Path, d.Before[cmp.Or(c.OldPath, c.Path)], d.file(c.Path).Data)...)
			}
		}
		return out
	}
}

// adding finds the files that get a line of a kind. The text was read before.
func adding(is func(line string) bool) func(Difference) []string {
	return func(d Difference) []string {
		files, _ := filesThatAdd(d.Text, is)
		return files
	}
}

// generated finds code that a program wrote, or that comes from elsewhere.
func generated(d Difference) []string {
	said := func(data []byte) bool {
		head := data[:min(len(data), 2048)]
		return bytes.Contains(head, []byte("@generated")) || bytes.Contains(head, []byte("DO NOT EDIT"))
	}
	return changed(func(c solve.FileChange) bool {
		return isVendored(c.Path) || said(d.file(c.Path).Data) || said(d.Before[c.Path])
	})(d)
}

// caseTwins finds new paths beside which another one stands that file systems of macOS and
// Windows take for the same, or directories of which that is so.
func caseTwins(d Difference) []string {
	fresh, twins := map[string]string{}, map[string]bool{} // a part of a new path as it is folded
	for _, c := range d.Changes {
		if c.Op == "add" || c.Op == "rename" {
			for p := c.Path; p != "."; p = path.Dir(p) {
				fresh[fold(p)] = p
			}
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	for _, p := range d.Paths {
		for ; p != "." && p != "/"; p = path.Dir(p) {
			if own, ok := fresh[fold(p)]; ok && own != p {
				twins[own+" and "+p] = true
			}
		}
	}
	var out []string
	for t := range twins {
		out = append(out, t)
	}
	slices.Sort(out)
	return out
}
