package primesim_test

import (
	"strconv"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/yudai-dev/yudai/test/primesim"
)

func TestCommands(t *testing.T) {
	t.Parallel()
	in := setup(t, primesim.Options{}).running(dict{"environment_vars": dict{"GIVEN": "at the create"}})
	r := in.run(`echo out; echo err >&2; echo "$GIVEN $HOME $(id -u) $(pwd) $$"; exit 3`)
	if r.out != "out\nat the create /root 0 / "+itoa(r.pid)+"\n" || r.errs != "err\n" || r.code != 3 || r.status != "exit status 3" {
		t.Errorf("got %+v", r)
	}
	spec := shell(`echo "$A $HOME $(id -un)"; pwd`)
	spec.Command.Envs, spec.Command.Cwd, spec.Command.User = map[string]string{"A": "b"}, proto.String("/tmp"), proto.String("user")
	if r, err := in.start(t.Context(), spec, nil); err != nil || r.out != "b /home/user user\n/tmp\n" || r.code != 0 {
		t.Errorf("got %+v, %v", r, err)
	}
	if r := in.run("kill -9 $$"); r.code != -1 || r.status != "signal: killed" {
		t.Errorf("a killed command is %+v", r)
	}
}

func itoa(n uint32) string { return strconv.Itoa(int(n)) }
