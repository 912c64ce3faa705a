"""Opens trajectories in mini-swe-agent's own inspector, as `mini-extra inspect` does,
turns every page, and looks for the commands on them. Usage: pages.py FILE..."""

import asyncio
import sys
from pathlib import Path

from minisweagent.run.utilities.inspector import TrajectoryInspector
from textual.widgets import Static


def text(app):
    return "\n".join(str(widget.render()) for widget in app.query_one("#content").query(Static))


async def check(app, pilot):
    """The pages of the file that is open; raises where one is not as it should be."""
    name = app.current_trajectory_name
    assert app.n_steps >= 2, f"{name}: {app.n_steps} pages"
    for i, messages in enumerate(app.steps):
        page = text(app)
        assert app.i_step == i and page.strip(), f"{name}: page {app.i_step} where {i} should be: {page}"
        for action in messages[0].get("extra", {}).get("actions", []):
            # A terminal shows no control characters.
            for line in action["command"].splitlines():
                assert line.expandtabs() in page or "\x1b" in line, f"{name}: page {i} lacks {line!r}:\n{page}"
        await pilot.press("l")
        await pilot.pause()
    print(name, app.n_steps)


async def main(paths):
    app = TrajectoryInspector(paths)
    async with app.run_test(size=(120, 40)) as pilot:
        for _ in paths:
            await pilot.pause()
            await check(app, pilot)
            await pilot.press("L")


asyncio.run(main([Path(name) for name in sys.argv[1:]]))
print("every file shows")
