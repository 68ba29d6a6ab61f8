"""
A Singer tap and target: `tap | target`, with the state that the target has written last (https://hub.meltano.com/singer/spec).

Usage: run.py TARGET DIRECTORY all|changed|surveys, where TARGET is the program target-duckdb.
"""

import json
import os
import subprocess
import sys

target, directory, mode = sys.argv[1:]
files = {name: os.path.join(directory, f"{name}.json") for name in ("tap", "target", "state")}

with open(files["tap"], "w") as file:
    config = {name.lower(): os.environ[name] for name in ("BASE_URL", "API_ID", "API_TOKEN")}
    json.dump({**config, "mode": mode}, file)
with open(files["target"], "w") as file:
    json.dump({"path": os.path.join(directory, "peer.duckdb"), "default_target_schema": "fieldwork"}, file)

tap_line = [sys.executable, os.path.join(os.path.dirname(__file__), "tap.py"), "--config", files["tap"]]
if os.path.exists(files["state"]):
    tap_line += ["--state", files["state"]]
tap = subprocess.Popen(tap_line, stdout=subprocess.PIPE)
loader = subprocess.Popen([target, "--config", files["target"]], stdin=tap.stdout, stdout=subprocess.PIPE, text=True)
tap.stdout.close()
states = [line for line in loader.communicate()[0].splitlines() if line.startswith("{")]
if tap.wait() != 0 or loader.returncode != 0:
    sys.exit(f"the tap ended with {tap.returncode}, the target with {loader.returncode}")
if states:
    with open(files["state"], "w") as file:
        file.write(states[-1])
