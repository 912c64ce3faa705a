"""Opens each trajectory with the command itself, `mini-extra inspect FILE`, on a terminal,
waits for its first message on the screen, and quits with q. Usage: terminal.py FILE..."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

COMMAND = os.path.join(os.path.dirname(sys.executable), "mini-extra")
SEQUENCE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|[P\]_].*?(\x1b\\|\x07)|.)", re.DOTALL)


def letters(text):
    """What is to be read, without the terminal's own sequences and spaces."""
    return "".join(SEQUENCE.sub("", text).split())


def read(fd, seen, until):
    """Reads on until that is so, or the program ends; returns all that was written."""
    deadline = time.monotonic() + 60
    while not until(seen):
        assert select.select([fd], [], [], max(0, deadline - time.monotonic()))[0], f"nothing more came after {seen[-3000:]!r}"
        try:
            seen += os.read(fd, 65536).decode(errors="replace")
        except OSError:  # a terminal that nobody holds any more
            break
    return seen


def look(path):
    with open(path) as f:
        first = letters(json.load(f)["messages"][0]["content"])[:30]
    assert len(first) > 10, first
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        os.execv(COMMAND, [COMMAND, "inspect", path])
    try:
        seen = read(fd, "", lambda seen: first in letters(seen))
        assert first in letters(seen), f"{path} does not show {first}: {seen[-3000:]!r}"
        os.write(fd, b"q")
        read(fd, "", lambda _: False)
        pid, status = 0, os.waitpid(pid, 0)[1]
        assert status == 0, f"{path}: {status}"
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)


for name in sys.argv[1:]:
    look(name)
print("every file opens")
