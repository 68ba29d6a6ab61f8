"""Runs queries in ClickHouse, as chDB, and writes the rows of each as a Parquet file.

stdin: {"directory": ..., "reads": [{"sql": ..., "output": file}]}
"""
import json
import os
import sys

import chdb

request = json.load(sys.stdin)
# chDB reads local files only below the working directory.
os.chdir(request["directory"])
for read in request["reads"]:
    with open(read["output"], "wb") as file:
        file.write(chdb.query(read["sql"], "Parquet").bytes())
print(json.dumps({"reads": len(request["reads"])}))
