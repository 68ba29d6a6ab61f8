"""Runs the SQL and the Python of a how-to page on a bucket, and prints what each block shows as JSON.

Stdin: {"env": {...}, "sql": [block], "python": [block]}. A block of Python creates `surveys`. Each block of SQL gets a new connection, as in
a new session. Prints {"sql": [rows of the last statement], "python": [rows of account and id]}.
"""
import json
import os
import sys
from glob import glob

task = json.load(sys.stdin)
os.environ.update(task["env"])

import duckdb  # noqa: E402

HOME = os.path.dirname(os.path.dirname(duckdb.__file__))


def run_sql(block):
    connection = duckdb.connect()
    for name in ["delta", "ducklake", "httpfs", "aws", "azure"]:
        [extension] = glob(f"{HOME}/duckdb_extension_{name}/extensions/*/{name}.duckdb_extension")
        connection.execute(f"LOAD '{extension}'")
    for statement in block.split(";\n"):
        if statement.strip() != "":
            connection.execute(statement)
    rows = [[str(value) for value in row] for row in connection.fetchall()]
    # Its threads must not outlive the interpreter.
    connection.close()
    return rows


def run_python(block):
    names = {}
    exec(block, names)
    surveys = names["surveys"]
    return sorted([str(account), int(id)] for account, id in zip(surveys["account"], surveys["id"]))


print(json.dumps({"sql": [run_sql(block) for block in task["sql"]], "python": [run_python(block) for block in task["python"]]}))
