package tree_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/solver/tree"
)

// odd is a repository of what repositories can hold and few do.
const odd = `
mkdir -p src deep/$(printf 'd%.0s' $(seq 120))/$(printf 'e%.0s' $(seq 120))
echo a > src/a.txt
printf x > 'new
line'; printf x > 'quo"te'; printf x > '-n'; printf x > '--help'; printf x > ' lead'; printf x > 'trail '; printf x > 'back\slash'; printf x > '*'; printf x > 'tab	'
printf x > $(printf 'latin-\344'); printf x > "$(printf 'n%.0s' $(seq 255))"
printf x > deep/$(printf 'd%.0s' $(seq 120))/$(printf 'e%.0s' $(seq 120))/$(printf 'f%.0s' $(seq 200))
printf lower > case; printf upper > CASE; printf b > Case
ln -s /etc/passwd outside; ln -s ../../../../etc/shadow above; ln -s loop2 loop1; ln -s loop1 loop2; ln -s . self; ln -s nowhere dangling; ln -s src dirlink
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n' > big.bin
printf '*.bin filter=lfs diff=lfs merge=lfs -text\n*.txt text eol=crlf\nsrc export-ignore\n*.sec filter=owned\n$Id$ ident\n' > .gitattributes
printf '$Id$\n' > id.sec
printf '#!/bin/sh\necho hook\n' > hook; chmod +x hook
printf '[filter "owned"]\n\tclean = touch /tmp/owned\n\tsmudge = touch /tmp/owned\n\trequired = true\n[core]\n\tfsmonitor = touch /tmp/owned\n\thooksPath = .\n' > .gitconfig
cp .gitconfig gitconfig; printf '[include]\n\tpath = ../.gitconfig\n' > config
cp hook post-checkout; cp hook pre-commit
git init -q sub; (cd sub; echo s > s.txt; git add .; git commit -q -m s)
printf '[submodule "sub"]\n\tpath = sub\n\turl = https://127.0.0.1:1/never.git\n[submodule "x"]\n\tpath = x\n\turl = --upload-pack=touch\n' > .gitmodules
git add sub 2>/dev/null
mkdir empty`

// Nothing in an odd repository is followed, fetched, filtered or lost.
func TestOddRepository(t *testing.T) {
	t.Parallel()
	b := laid(t, odd)
	if patch := b.harvest(); patch != "" {
		t.Fatalf("untouched, and harvested: %s", patch)
	}
	must(t, tree.IgnoreLeftovers(t.Context(), b))
	if got := b.repo("ls -A sub; cat case CASE Case; head -c 7 big.bin; cat id.sec; od -c src/a.txt | head -1; cat /tmp/owned 2>/dev/null || echo clean; git ls-tree HEAD sub | cut -c1-13; readlink outside above self; test -x hook"); got !=
		"lowerupperbversion$Id$\n0000000   a  \\n\nclean\n160000 commit\n/etc/passwd\n../../../../etc/shadow\n." {
		t.Errorf("the work tree: %q", got)
	}
	b.repo(`echo b >> src/a.txt; printf y > 'new
line'; printf y > '-n'; printf y > "$(printf 'n%.0s' $(seq 255))"; printf y > '*'; printf upper2 > CASE; rm Case
		printf y > $(printf 'latin-\344'); ln -sfn /etc/hosts outside; ln -sfn src/a.txt self
		printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 5\n' > big.bin
		mkdir -p sub; echo mine > sub/s.txt; mkdir sub/inner; echo m > sub/inner/x
		chmod -x hook; printf 'changed $Id$\n' > id.sec`)
	patch := b.harvest()
	if strings.Contains(patch, "160000") {
		t.Errorf("the patch touches the submodule:\n%s", patch)
	}
	if n := strings.Count(patch, "\ndiff --git ") + 1; n != 13 {
		t.Errorf("%d files changed: %q", n, files(patch))
	}
	fresh := laid(t, odd)
	must(t, tree.ApplyPatch(t.Context(), fresh, []byte(patch)))
	for name, box := range map[string]*box{"agent": b, "fresh": fresh} {
		if got := box.repo(`cat 'new
line' ./-n './*' CASE; test ! -e Case; cat case; readlink outside self; test ! -x hook; cat id.sec; sed -n 2p big.bin; cat /tmp/owned 2>/dev/null || echo clean`); got !=
			"yyyupper2lower/etc/hosts\nsrc/a.txt\nchanged $Id$\noid sha256:0000\nclean" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := files(patch); slices.ContainsFunc(got, func(p string) bool { return strings.HasPrefix(p, "sub/") }) {
		t.Errorf("files inside the submodule: %q", got)
	}
}
