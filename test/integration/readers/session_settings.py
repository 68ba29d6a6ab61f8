"""Sets each setting of this DuckDB alone, and prints the queries whose rows it changes.

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


def answers(connection, own_schema, setting=None):
    """Raises an error if this DuckDB does not know the setting's value. A path needs schemas that exist."""
    is_path = setting is not None and setting.startswith(("schema ", "search_path "))
    if setting is not None and not is_path:
        connection.execute(f"SET {setting}")
    if own_schema:
        connection.execute(f"BEGIN; {task['schema']}; COMMIT; ATTACH '{task['file']}' AS source (READ_ONLY)")
        for table in task["tables"]:
            connection.execute(f"INSERT INTO memory.{table} BY NAME SELECT * FROM source.{table}")
        connection.execute("DETACH source")
    if is_path:
        connection.execute(f"SET {setting}")
    return {title: rows_of(connection, sql) for title, sql in task["queries"].items()}


with session(False) as connection:
    names = [name for (name,) in connection.execute("SELECT name FROM duckdb_settings() ORDER BY name").fetchall()]
    expected = answers(connection, False)
changed = []
for name in names:
    for value in task["tried"].get(name, []):
        # A setting that does not change what SQL means cannot change what `CREATE VIEW` stores.
        for own_schema in (False, True) if name in task["meaning"] else (False,):
            with session(own_schema) as connection:
                try:
                    found = answers(connection, own_schema, f"{name} = {value}")
                except duckdb.Error as error:
                    # A value of another version. Anything else is shown.
                    if not re.search(r"SET |recogni[sz]ed|expected|convert|does not exist|Unknown|enum", str(error)):
                        changed.append(f"{name} = {value}: {error}")
                    continue
            changed += [f"{name} = {value}: {title}" for title in expected if found[title] != expected[title]]
print(
    json.dumps(
        {
            "uncovered": [name for name in names if name not in task["tried"] and name not in task["notTried"]],
            "empty": [title for title, rows in expected.items() if isinstance(rows, str) or not rows[1]],
            "changed": changed,
        }
    )
)
