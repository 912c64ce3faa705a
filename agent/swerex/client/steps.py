"""Drives a SWE-ReX endpoint through the official client and prints what it sees.

Arguments: port, token, a directory of the endpoint's machine, a directory of ours.
Each line is a step: its name and what came of it. The same steps against the official
server gave real.golden.
"""

import asyncio
import json
import logging
import pathlib
import sys

from swerex.deployment.remote import RemoteDeployment
from swerex.exceptions import CommandTimeoutError
from swerex.runtime.abstract import (
    BashAction,
    BashInterruptAction,
    CloseBashSessionRequest,
    Command,
    CreateBashSessionRequest,
    ReadFileRequest,
    UploadRequest,
    WriteFileRequest,
)
from swerex.runtime.remote import RemoteRuntime

PORT, TOKEN, THERE, HERE = int(sys.argv[1]), sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4])
logging.disable(logging.CRITICAL)


def show(name, what):
    text = json.dumps(what, sort_keys=True).replace(THERE, "THERE")
    # The official server waits for this instead of its prompt where it cannot read the command.
    text = text.replace("UNIQUESTRING29234", "SHELLPS1PREFIX")
    sys.stderr.write(f"{name}: {text}\n")


async def step(name, awaitable, keep=None):
    """Prints a result or the classes of an exception; keep names the fields that are shown."""
    try:
        got = (await awaitable).model_dump()
        if keep is not None:
            got = {k: got[k] for k in keep}
        show(name, got)
    except Exception as error:
        classes = [c.__module__ + "." + c.__name__ for c in type(error).__mro__[:3]]
        show(name, {"raised": classes})


class Steps:
    def __init__(self, runtime):
        self.rt = runtime

    def run(self, command, session="default", check="raise", timeout=8, **more):
        return self.rt.run_in_session(BashAction(command=command, session=session, check=check, timeout=timeout, **more))

    def execute(self, command, **more):
        more.setdefault("timeout", 8)
        return self.rt.execute(Command(command=command, **more))

    async def executes(self):
        await step("execute shell", self.execute("echo 'hello world'", shell=True))
        await step("execute leading space", self.execute("echo '\n \nhello'", shell=True))
        await step("execute no final newline", self.execute("printf '\\nhello'", shell=True))
        await step("execute exit code", self.execute("echo out; echo err >&2; exit 3", shell=True))
        await step("execute check", self.execute("echo it\\'s out; echo err >&2; exit 3", shell=True, check=True))
        await step("execute check with a message", self.execute("exit 4", shell=True, check=True, error_msg="No luck"))
        await step("execute timeout", self.execute("sleep 10", shell=True, timeout=0.3))
        await step("execute after timeout", self.execute("echo ok", shell=True))
        await step("execute empty", self.execute("", shell=True, check=True))
        await step("execute newline", self.execute("\n", shell=True, check=True))
        await step("execute reads no input", self.execute("cat", shell=True))
        await step("execute cwd", self.execute("pwd", shell=True, cwd=THERE))
        await step("execute env", self.execute("echo $A", shell=True, env={"A": "b c", "PATH": "/usr/bin:/bin"}))
        await step("execute bytes", self.execute("printf 'a\\377b\\303\\244'", shell=True))
        await step("execute which", self.execute("which sh >/dev/null", shell=True, check=True, env={"PATH": "/usr/bin:/bin"}))

    async def files(self):
        path = THERE + "/a/b/file.txt"
        await step("write", self.rt.write_file(WriteFileRequest(path=path, content="täst\n")))
        await step("read", self.rt.read_file(ReadFileRequest(path=path)))
        await step("read missing", self.rt.read_file(ReadFileRequest(path=THERE + "/none.txt")))
        await step("overwrite", self.rt.write_file(WriteFileRequest(path=path, content="")))
        await step("read empty", self.rt.read_file(ReadFileRequest(path=path)))
        await self.execute(f"printf 'a\\r\\nb\\rc\\377d' >{THERE}/odd", shell=True)
        await step("read line ends", self.rt.read_file(ReadFileRequest(path=THERE + "/odd", encoding="utf-8", errors="backslashreplace")))
        text = "0123456789abcde\n" * (64 * 1024)
        await self.rt.write_file(WriteFileRequest(path=THERE + "/large", content=text))
        got = (await self.rt.read_file(ReadFileRequest(path=THERE + "/large"))).content
        show("large file", {"same": got == text, "size": len(got)})

    async def uploads(self):
        source = HERE / "source.txt"
        source.write_text("test")
        await step("upload file", self.rt.upload(UploadRequest(source_path=str(source), target_path=THERE + "/up/target.txt")))
        await step("read uploaded", self.rt.read_file(ReadFileRequest(path=THERE + "/up/target.txt")))
        tree = HERE / "tree"
        (tree / "sub" / "empty").mkdir(parents=True)
        (tree / "file1").write_text("one\n")
        (tree / "sub" / "file2").write_bytes(bytes(range(256)) * 300)
        await step("upload directory", self.rt.upload(UploadRequest(source_path=str(tree), target_path=THERE + "/tree")))
        await step("uploaded tree", self.execute("find . | sort; cat file1; cksum <sub/file2; ls -l file1 | cut -c1-10", shell=True, cwd=THERE + "/tree"))

    async def shells(self):
        await step("create", self.rt.create_session(CreateBashSessionRequest()), keep=["session_type"])
        await step("create twice", self.rt.create_session(CreateBashSessionRequest()))
        for name, command in {
            "echo": "echo 'hello world'",
            "empty echo": "echo ''",
            "no final newline": "printf '\nx'",
            "many newlines": "printf '\n\nx\n\n\n'",
            "leading blanks": "printf '  x'",
            "blank lines": "echo '\n \nhello\nworld'",
            "or": "false || true",
            "empty": "",
            "newline": "\n",
            "blank": "\n\n \n",
            "comment": "# echo 'hello world'",
            "line breaks": "\n echo 'test'\n\n",
            "several lines": "\n\n\n echo 'test1' \n  \n \n echo 'test2' \n\n\n",
            "heredoc": "cat <<EOF\nhello\n  world\nEOF",
            "two heredocs": "cat <<EOF\na\nEOF\ncat <<'END'\n$b\nEND\necho c",
            "continued line": "echo a \\\n b",
            "several commands": "echo 'hello world'; echo 'hello again'",
            "and": "echo 'hello world' && echo 'hello again'",
            "loop": "for i in {1..3};\n do echo 'hello world';\n done",
            "what bashlex cannot read": "[[ $env == $env ]]",
            "array": "echo 'hw';A=();echo 'asdf'",
            "stderr": "echo oops >&2",
            "colours": "printf '\\033[31mred\\033[0m\\n'",
            "unicode": "echo 'grüß dich'",
        }.items():
            await step("shell " + name, self.run(command))
        await self.rt.create_session(CreateBashSessionRequest(session="back"))
        await step("shell background", self.run("(sleep 3) &", session="back"), keep=["exit_code"])
        await step("shell unknown command", self.run("doesntexist 2>/dev/null", check="silent"))
        await step("shell exit code", self.run("false && true", check="silent"))
        await step("shell ignored", self.run("echo x; false", check="ignore"))
        await step("shell raise", self.run("echo \"it's\"; (exit 5)"))
        await step("shell raise with a message", self.run("false", error_msg="Bad luck"))
        await step("shell array fails", self.run("A=(); false", check="silent"))
        await step("shell unknown session", self.run("echo x", session="non_existent"))
        await step("close unknown session", self.rt.close_session(CloseBashSessionRequest(session="non_existent")))
        try:
            await self.run("(a")
        except Exception as error:
            show("shell syntax", {"class": type(error).__name__, "extra": sorted(error.extra_info), "error": "syntax error" in error.extra_info["bash_stderr"]})

    async def state(self):
        await self.run(f"x=42; export Y='a b'; f() {{ echo \"f $1\"; }}; alias hi='echo hi there'; set -o pipefail; cd {THERE}; umask 027; arr=(one 'two three')")
        await step("state", self.run('echo "$x $Y ${arr[1]}"; f 1; pwd; umask; set -o | grep pipefail | tr -d "\\t "; bash -c \'echo "$Y"\''))
        await step("alias", self.run("hi"))
        await step("unset", self.run("unset x; unset -f f; unalias hi; set +o pipefail; cd /; echo \"<$x>\"; umask 022"))
        await self.rt.create_session(CreateBashSessionRequest(session="one"))
        await self.rt.create_session(CreateBashSessionRequest(session="two"))
        await asyncio.gather(self.run("v=1; sleep 0.5", session="one"), self.run("w=2; sleep 0.5", session="two"))
        await step("shell one", self.run('echo "$v-$w"', session="one"))
        await step("shell two", self.run('echo "$v-$w"', session="two"))
        for name in ["one", "two"]:
            await step("close " + name, self.rt.close_session(CloseBashSessionRequest(session=name)))
        await step("close twice", self.rt.close_session(CloseBashSessionRequest(session="one")))
        await self.rt.write_file(WriteFileRequest(path=THERE + "/startup.sh", content="export FROM=startup\necho started\n"))
        made = await self.rt.create_session(CreateBashSessionRequest(session="three", startup_source=[THERE + "/startup.sh"], startup_timeout=5))
        show("create with a source", made.output.endswith("started\n"))
        await step("startup", self.run("echo $FROM", session="three"))
        await self.rt.close_session(CloseBashSessionRequest(session="three"))

    async def interrupts(self):
        await step("timeout", self.run("sleep 10", timeout=0.5))
        await step("interrupt", self.rt.run_in_session(BashInterruptAction()), keep=["exit_code", "expect_string"])
        await step("after interrupt", self.run("echo asdf"))
        await step("timeout of a list", self.run("keep=me; sleep 10; echo not this", timeout=0.5))
        await self.rt.run_in_session(BashInterruptAction())
        await step("state after interrupt", self.run("echo $keep"))
        try:
            await self.run("bash -c 'trap \"\" INT TSTP; while :; do sleep 0.1; done'", timeout=0.5)
        except CommandTimeoutError:
            pass
        try:
            await self.rt.run_in_session(BashInterruptAction(timeout=0.5))
            show("deaf command", "freed")
        except Exception as error:
            show("deaf command", type(error).__name__)


async def alive(deployment):
    for _ in range(100):
        if (await deployment.is_alive()).is_alive:
            return True
        await asyncio.sleep(0.2)
    return False


async def main():
    deployment = RemoteDeployment(host="http://127.0.0.1", port=PORT, auth_token=TOKEN, timeout=20)
    await deployment.start()
    show("alive", await alive(deployment))
    steps = Steps(deployment.runtime)
    for part in [steps.executes, steps.files, steps.uploads, steps.shells, steps.state, steps.interrupts]:
        await part()
    wrong = RemoteRuntime(host="http://127.0.0.1", port=PORT, auth_token="wrong", timeout=20)
    show("wrong token", {"alive": (await wrong.is_alive()).is_alive})
    dead = RemoteRuntime(host="http://127.0.0.1", port=9, auth_token=TOKEN)
    show("nobody there", {"alive": (await dead.is_alive()).is_alive})
    await deployment.stop()
    show("end", "every step passed")


asyncio.run(main())
