"""
Airbyte: a manifest-only source, read by PyAirbyte into its DuckDB cache (https://docs.airbyte.com/developers/using-pyairbyte).

Usage: run.py DIRECTORY all|surveys. CAP is a rate limit such as 60/10s.

There is no way `changed`: a substream follows an incremental parent only if its own records have a cursor, and progress has none.
"""

import os
import sys
from pathlib import Path

directory, mode = Path(sys.argv[1]), sys.argv[2]
# Nothing leaves this machine, and logs stay in the directory.
os.environ.update(DO_NOT_TRACK="1", AIRBYTE_OFFLINE_MODE="1", AIRBYTE_LOGGING_ROOT=str(directory / "logs"))

import airbyte as ab  # noqa: E402
import yaml  # noqa: E402

manifest = yaml.safe_load((Path(__file__).parent / "manifest.yaml").read_text())
if "CAP" in os.environ:
    # "API budget": the source itself keeps the cap.
    limit, window = os.environ["CAP"].split("/")
    rate = {"type": "Rate", "limit": int(limit), "interval": f"PT{window.upper()}"}
    policy = {"type": "MovingWindowCallRatePolicy", "rates": [rate], "matchers": []}
    manifest["api_budget"] = {"type": "HTTPAPIBudget", "policies": [policy]}

source = ab.get_source(
    "source-fieldwork",
    config={name.lower(): os.environ[name] for name in ("BASE_URL", "API_ID", "API_TOKEN")},
    source_manifest=manifest,
)
if mode == "surveys":
    source.select_streams(["surveys"])
else:
    source.select_all_streams()
cache = ab.DuckDBCache(db_path=directory / "peer.duckdb", schema_name="fieldwork", cache_dir=directory / "cache")
source.read(cache, write_strategy="merge")
