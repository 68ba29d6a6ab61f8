"""Imports the DAGs of the page as Airflow does, and runs the Bash task with a command that ends with each exit code."""

import json
import os
import sys
import tempfile

given = json.load(sys.stdin)
home = tempfile.mkdtemp(dir=given["directory"])
os.environ |= {"AIRFLOW_HOME": home, "AIRFLOW__CORE__LOAD_EXAMPLES": "False", "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR"}

from airflow.dag_processing.dagbag import DagBag
from airflow.exceptions import AirflowException
from airflow.sdk.exceptions import AirflowSkipException

def load(number, code):
    folder = os.path.join(home, f"dags-{number}")
    os.mkdir(folder)
    with open(os.path.join(folder, "fieldwork.py"), "w") as file:
        file.write(code)
    return DagBag(folder)


bags = [load(number, code) for number, code in enumerate(given["blocks"])]
dags = [dag for bag in bags for dag in bag.dags.values()]
tasks = [task for dag in dags for task in dag.tasks]


def outcome(task, code):
    os.environ["EXIT"] = str(code)
    try:
        task.execute({"ti": None})
        return "success"
    except AirflowSkipException:
        return "skipped"
    except AirflowException:
        return "failed"


[bash] = [task for task in tasks if task.operator_name == "BashOperator"]
os.environ["PATH"] = f"{given['directory']}:{os.environ['PATH']}"
answer = {
    "problems": [problem for bag in bags for problem in bag.import_errors.values()],
    "dags": [
        {"id": dag.dag_id, "max_active_runs": dag.max_active_runs, "catchup": dag.catchup, "schedule": str(dag.schedule)}
        for dag in dags
    ],
    "tasks": [
        {"operator": task.operator_name, "skips": sorted(task.skip_on_exit_code), "retries": task.retries}
        for task in tasks
    ],
    "outcomes": {code: outcome(bash, code) for code in given["codes"]},
}
print("\n" + json.dumps(answer))
