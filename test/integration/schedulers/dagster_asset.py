"""Loads the definitions of the page, and materializes the asset with a command that ends with each exit code."""

import json
import os
import sys

import dagster as dg

given = json.load(sys.stdin)
module = {"__name__": "fieldwork"}
# The executor of the test waits for a retry.
exec(given["code"].replace("seconds_to_wait=3600", "seconds_to_wait=0"), module)
definitions = module["defs"]
dg.Definitions.validate_loadable(definitions)
os.environ["PATH"] = f"{given['directory']}:{os.environ['PATH']}"


def outcome(code):
    os.environ["EXIT"] = str(code)
    result = dg.materialize([module["fieldwork"]], raise_on_error=False)
    retried = any(event.event_type_value == "STEP_UP_FOR_RETRY" for event in result.all_events)
    materialized = len(result.get_asset_materialization_events()) == 1
    return {"success": result.success, "retried": retried, "materialized": materialized}


[schedule] = definitions.schedules
answer = {
    "schedule": [schedule.name, schedule.cron_schedule, schedule.execution_timezone],
    "outcomes": {code: outcome(code) for code in given["codes"]},
}
print("\n" + json.dumps(answer))
