"""Runs a block of a how-to page that creates `surveys`, and prints the values of some of its columns as JSON.

Stdin: {"code", "columns"}.
"""
import json
import sys

task = json.load(sys.stdin)
names = {}
exec(task["code"], names)
surveys = names["surveys"]


def values(name):
    if "spark" in names:
        return [row[0] for row in surveys.select(name).collect()]
    if "engine" in names:
        with names["engine"].connect() as connection:
            return [row[0] for row in connection.execute(names["sqlalchemy"].select(surveys.c[name]))]
    column = surveys[name]
    return column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()


print(json.dumps({name: sorted(values(name)) for name in task["columns"]}))
