"""Sets each setting of this DuckDB that is about meaning alone, the others together, and prints the queries whose rows they change.

Stdin: {"file", "queries": {title: SQL}, "schema": SQL of an empty warehouse, "tables": its tables, "tried": {setting: values}, "notTried", "meaning": settings}.
"""
import datetime
import json
import re
import sys

import duckdb

task = json.load(sys.stdin)


def plain(value):
    """Texts of times depend on the session."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.timezone.utc).isoformat()
    return str(value)


def rows_of(connection, sql):
    try:
        cursor = connection.execute(sql)
        # `preserve_identifier_case` may show a name in another case, which is the same name in SQL.
        names = [column[0].lower() for column in cursor.description]
        rows = [[plain(value) for value in row] for row in cursor.fetchall()]
    except duckdb.Error as error:
        return str(error)
    return [names, rows if re.search(r"ORDER BY [^)]*$", sql) else sorted(rows)]


def session(own_schema):
    """A reader that opens the file, or one that has created the schema in its own database and copied the rows."""
    return duckdb.connect() if own_schema else duckdb.connect(task["file"], read_only=True)


def apply(connection, settings):
    """Those whose value this DuckDB does not know are left out. Returns the others, or raises another error."""
    known = {}
    for name, value in settings.items():
        try:
            connection.execute(f"SET {name} = {value}")
            known[name] = value
        except duckdb.Error as error:
            if not re.search(r"SET |recogni[sz]ed|expected|convert|does not exist|Unknown|enum", str(error)):
                raise
    return known


def answers(connection, own_schema, settings):
    """The rows of each query, or None if this DuckDB knows none of the settings. A path needs schemas that exist."""
    paths = {name: value for name, value in settings.items() if name in ("schema", "search_path")}
    known = apply(connection, {name: value for name, value in settings.items() if name not in paths})
    if own_schema:
        connection.execute(f"BEGIN; {task['schema']}; COMMIT; ATTACH '{task['file']}' AS source (READ_ONLY)")
        for table in task["tables"]:
            connection.execute(f"INSERT INTO memory.{table} BY NAME SELECT * FROM source.{table}")
        connection.execute("DETACH source")
    known |= apply(connection, paths)
    if settings and not known:
        return None
    return {title: rows_of(connection, sql) for title, sql in task["queries"].items()}


def sessions(settings):
    """Of the settings that this DuckDB has, by their default."""
    tried = {name: [value for value in values if value != settings[name]] for name, values in task["tried"].items() if name in settings}
    for name in tried:
        if name in task["meaning"]:
            # A setting that does not change what SQL means cannot change what `CREATE VIEW` stores.
            yield from ((own_schema, {name: value}) for value in tried[name] for own_schema in (False, True))
    others = {name: values for name, values in tried.items() if name not in task["meaning"] and values}
    for place in range(max(map(len, others.values()))):
        yield False, {name: values[min(place, len(values) - 1)] for name, values in others.items()}


with session(False) as connection:
    settings = dict(connection.execute("SELECT name, value FROM duckdb_settings() ORDER BY name").fetchall())
    expected = answers(connection, False, {})
changed = []
for own_schema, one in sessions(settings):
    with session(own_schema) as connection:
        try:
            found = answers(connection, own_schema, one) or expected
        except duckdb.Error as error:
            changed.append(f"{one}: {error}")
            continue
    changed += [f"{one}: {title}" for title in expected if found[title] != expected[title]]
print(
    json.dumps(
        {
            "uncovered": [name for name in settings if name not in task["tried"] and name not in task["notTried"]],
            "empty": [title for title, rows in expected.items() if isinstance(rows, str) or not rows[1]],
            "changed": changed,
        }
    )
)
