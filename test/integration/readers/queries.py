"""Runs queries on a published file, opened read-only, and prints the types and rows of each, with every value as text.

Stdin: {"file", "queries": {title: SQL}, "schema": SQL of an empty warehouse}.
"""
import json
import sys

import duckdb

task = json.load(sys.stdin)
duckdb.connect().execute(task["schema"])
answers = {"version": duckdb.__version__}
with duckdb.connect(task["file"], read_only=True) as connection:
    connection.execute("SET TimeZone = 'UTC'")
    for title, sql in task["queries"].items():
        types = connection.execute(f"SELECT column_name, column_type FROM (DESCRIBE {sql})").fetchall()
        rows = connection.execute(f"SELECT CAST(COLUMNS(*) AS VARCHAR) FROM ({sql})").fetchall()
        answers[title] = {"types": types, "rows": rows}
print(json.dumps(answers))
