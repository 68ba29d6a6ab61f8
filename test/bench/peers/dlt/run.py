"""
dlt: its REST API source, into its DuckDB destination (https://dlthub.com/docs/dlt-ecosystem/verified-sources/rest_api/basic).

Usage: run.py DIRECTORY all|changed|surveys [parquet]
- all: each night reads every survey with its children. Progress changes without `updated_at` of its survey.
- changed: the list of surveys is incremental, and the children follow it.
- surveys: the list of surveys alone.
- parquet: rows are loaded from Parquet files, as the page of the DuckDB destination suggests, because they load faster. They also keep
  the last digit of a rate. Without it, rows are loaded by INSERT statements, as dlt does by default.
"""

import os
import sys
from datetime import datetime, timezone

directory, mode, *files = sys.argv[1:]

# "Optimizing dlt": parallelized resources are read by a pool of threads. 5 is the default; 20 and 50 took as long on two cores.
os.environ["EXTRACT__WORKERS"] = "5"
# No report to the makers of dlt, and no files outside of the directory.
os.environ.update(RUNTIME__DLTHUB_TELEMETRY="false", RUNTIME__LOG_LEVEL="ERROR", DLT_DATA_DIR=directory)

import dlt  # noqa: E402
from dlt.sources.rest_api import rest_api_source  # noqa: E402

STATUSES = (
    "complete incomplete quota_full screen_out above_target manual_action pending_analysis speeder straightliner "
    "failed_quality_check inappropriate_language"
).split()
RATES = "completion_rate questionnaire_incidence_rate target_incidence_rate incidence_rate drop_out_rate".split()

# The type of a column follows from its first value. A rate whose first value is 0 would become an integer, and get a second
# column later. "Adjust a schema" recommends to declare such columns.
DOUBLES = {
    name: {"data_type": "double"}
    for name in [*RATES, *(f"interview_count_by_status__{status}__percentage" for status in STATUSES)]
}


def in_utc(row):
    """Cursor values are compared as text. This API sends several offsets, so the cursor is brought to UTC first."""
    row["updated_at"] = datetime.fromisoformat(row["updated_at"]).astimezone(timezone.utc).isoformat(timespec="microseconds")
    return row


GONE = {"response_actions": [{"status_code": 404, "action": "ignore"}]}

surveys = {
    "name": "surveys",
    "primary_key": "id",
    "columns": {"project_id": {"data_type": "text"}},
    "endpoint": {"path": "surveys", "data_selector": "surveys"},
    "processing_steps": [{"map": in_utc}],
}
if mode == "changed":
    surveys["endpoint"]["incremental"] = {
        "start_param": "updated_since",
        "cursor_path": "updated_at",
        "initial_value": "1970-01-01T00:00:00.000000+00:00",
    }

def child(name, key, parents, path, **endpoint):
    """A resource below another one, of which it has the columns `parents`."""
    return {
        "name": name,
        "primary_key": key,
        "include_from_parent": parents,
        "parallelized": True,
        "endpoint": {"path": f"surveys/{path}", **endpoint, **GONE},
    }


def progress(name, key, parents, path, **endpoint):
    single = {"data_selector": "fieldwork_progress", "paginator": "single_page", **endpoint}
    return {**child(name, key, parents, f"{path}/fieldwork_progress", **single), "columns": DOUBLES}


SURVEY = "{resources.surveys.id}"
sample_sources = child(
    "sample_sources", ["_surveys_id", "id"], ["id"], f"{SURVEY}/sample_sources", data_selector="sample_sources"
)
survey_progress = progress("survey_progress", "_surveys_id", ["id"], SURVEY)
source_progress = progress(
    "source_progress",
    ["_sample_sources__surveys_id", "_sample_sources_id"],
    ["_surveys_id", "id"],
    "{resources.sample_sources._surveys_id}",
    params={"sample_source_id": "{resources.sample_sources.id}"},
)

source = rest_api_source(
    {
        "client": {
            "base_url": os.environ["BASE_URL"] + "/",
            "headers": {
                "Authorization-ID": os.environ["API_ID"],
                "Authorization-Token": os.environ["API_TOKEN"],
            },
            "paginator": {"type": "page_number", "base_page": 1, "total_path": "pagination.total_pages"},
        },
        "resource_defaults": {"write_disposition": "merge"},
        "resources": [surveys, sample_sources, survey_progress, source_progress],
    },
    name="fieldwork",
)

pipeline = dlt.pipeline(
    pipeline_name="fieldwork",
    pipelines_dir=os.path.join(directory, "pipelines"),
    destination=dlt.destinations.duckdb(os.path.join(directory, "peer.duckdb")),
    dataset_name="fieldwork",
)
pipeline.run(
    source.with_resources("surveys") if mode == "surveys" else source,
    loader_file_format="parquet" if files == ["parquet"] else None,
)
