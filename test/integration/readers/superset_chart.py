"""Adds a database to Apache Superset as the page says, and prints what it lists and the data of a chart. Input: uri, parameters, table, chart."""

import json
import os
import sys
import tempfile

given = json.load(sys.stdin)
home = tempfile.TemporaryDirectory()
os.environ["SUPERSET_HOME"] = home.name
os.environ["SUPERSET_CONFIG_PATH"] = os.path.join(home.name, "superset_config.py")
with open(os.environ["SUPERSET_CONFIG_PATH"], "w") as config:
    config.write(
        f"""SECRET_KEY = "for a test that nobody can reach"
SQLALCHEMY_DATABASE_URI = "sqlite:///{home.name}/superset.db"
WTF_CSRF_ENABLED = TALISMAN_ENABLED = RATELIMIT_ENABLED = False
FILTER_STATE_CACHE_CONFIG = EXPLORE_FORM_DATA_CACHE_CONFIG = {{"CACHE_TYPE": "SimpleCache"}}
"""
    )

import superset  # noqa: E402
from flask_migrate import upgrade  # noqa: E402
from superset.app import create_app  # noqa: E402

USER = {"username": "admin", "password": "admin"}
app = create_app()
with app.app_context():
    upgrade(directory=os.path.join(os.path.dirname(superset.__file__), "migrations"))
    manager = superset.security_manager
    manager.sync_role_definitions()
    manager.add_user("admin", "a", "b", "a@example.org", manager.find_role("Admin"), password="admin")
client = app.test_client()
headers = {}


def call(method, path, body=None):
    answer = client.open(f"/api/v1{path}", method=method, json=body, headers=headers)
    if answer.status_code >= 300:
        sys.exit(f"{method} {path}: {answer.status_code} {answer.get_data(as_text=True)}")
    return answer.get_json()


headers["Authorization"] = f"Bearer {call('POST', '/security/login', {**USER, 'provider': 'db'})['access_token']}"
extra = json.dumps({"engine_params": given["parameters"]})
database = call("POST", "/database/", {"database_name": "fieldwork", "sqlalchemy_uri": given["uri"], "extra": extra})["id"]
listed = call("GET", f"/database/{database}/tables/?q=(schema_name:main)")["result"]
dataset = call("POST", "/dataset/", {"database": database, "schema": "main", "table_name": given["table"]})["id"]
[chart] = call("POST", "/chart/data", {"datasource": {"id": dataset, "type": "table"}, "queries": [given["chart"]]})["result"]
shown = {kind: sorted(one["value"] for one in listed if one["type"] == kind) for kind in ("table", "view")}
print(json.dumps({**shown, "rows": chart["data"], "sql": chart["query"]}))
