"""A session of DuckDB with the extensions for DuckLake and S3. Stdin: a line of JSON with the address of the store and its credentials, and
then a statement a line, as JSON. Prints a line of JSON for each statement: {"rows": [[text]]} or {"error": text}.
"""
import json
import os
import sys
from glob import glob

import duckdb

store = json.loads(sys.stdin.readline())
packages = os.path.dirname(os.path.dirname(duckdb.__file__))
connection = duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})
for name in ["ducklake", "httpfs"]:
    [extension] = glob(f"{packages}/duckdb_extension_{name}/extensions/*/{name}.duckdb_extension")
    connection.execute(f"LOAD '{extension}'")
connection.execute(
    f"""CREATE SECRET (TYPE s3, KEY_ID '{store["key"]}', SECRET '{store["secret"]}', REGION 'us-east-1',
    ENDPOINT '{store["host"]}', URL_STYLE 'path', USE_SSL false)"""
)
connection.execute("SET TimeZone = 'UTC'")
for line in sys.stdin:
    try:
        rows = connection.execute(json.loads(line)).fetchall()
        answer = {"rows": [[None if value is None else str(value) for value in row] for row in rows]}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
