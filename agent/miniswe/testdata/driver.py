"""Runs mini-swe-agent's own command line once for each list of arguments, in one
process: importing litellm takes seconds. Usage: driver.py FILE (JSON, a list of lists)."""

import json
import sys

from minisweagent.run.mini import app

for arguments in json.load(open(sys.argv[1])):
    try:
        app(arguments, standalone_mode=False)
    except Exception as e:  # the end of the run is in its trajectory
        print("ended by", type(e).__name__)
print("every run ended")
