"""Live processes through the official Python SDK, whose first stream breaks."""

import asyncio
import sys

from prime_sandboxes import AsyncSandboxClient


async def main(box):
    async with AsyncSandboxClient() as client:
        # The stream breaks after the first event, and the SDK attaches to the session.
        # What is printed in between is lost, so that the command repeats itself.
        # It reads without a time limit: "read -t" throws away the part of a line that it
        # has read when the time is up.
        p = await client.open_process(
            box, "while echo ready; do sleep .1; done & read -r line; kill $!; wait $!; echo \"got $line\"; exit 5"
        )
        out = await anext(p.stdout)
        assert out.startswith(b"ready\n"), out
        await p.write_stdin(b"a line\n")
        out = b"".join([chunk async for chunk in p.stdout])
        assert out.endswith(b"got a line\n"), out
        assert await p.wait() == 5
        # The stream breaks before the first event, and the SDK sends the same start again.
        p = await client.open_process(box, "exec sleep 60")
        await p.terminate()
        assert await p.wait() == -1
    print("every step passed")


asyncio.run(main(sys.argv[1]))
