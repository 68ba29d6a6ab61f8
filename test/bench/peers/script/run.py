"""
A script of one's own: what an engineer writes in a day, with requests and DuckDB, and no framework. It reads everything each night, within
the cap, and replaces the tables. For each night it keeps a copy of the progress, which is all of its history.

Usage: run.py DIRECTORY all|surveys
"""

import json
import os
import sys
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock, local

import duckdb
import requests

directory, mode = Path(sys.argv[1]), sys.argv[2]

ATTEMPTS_MAX = 5
TIMEOUT_S = 60
THREADS = 5
STATUSES = (
    "complete incomplete quota_full screen_out above_target manual_action pending_analysis speeder straightliner "
    "failed_quality_check inappropriate_language"
).split()
COUNTS = ", ".join(f"{status} STRUCT(individuals BIGINT, percentage DOUBLE)" for status in STATUSES)

# Types are declared: those that DuckDB finds in a sample of the rows depend on the sample.
SURVEY = {
    "id": "BIGINT",
    "title": "VARCHAR",
    "created_at": "VARCHAR",
    "updated_at": "VARCHAR",
    "hashid": "VARCHAR",
    "project_id": "VARCHAR",
    "status": "VARCHAR",
    "owner_organization_id": "BIGINT",
    "transition_style": "VARCHAR",
    "respondent_questions_count": "BIGINT",
    "respondent_iterations_count": "BIGINT",
}
SOURCE = {
    "survey_id": "BIGINT",
    "id": "BIGINT",
    "provider": "VARCHAR",
    "sample_size": "BIGINT",
    "country_code": "VARCHAR",
    "description": "VARCHAR",
    "name": "VARCHAR",
    "hashid": "VARCHAR",
    "panelist_id_required": "BOOLEAN",
    "created_at": "VARCHAR",
    "updated_at": "VARCHAR",
}
PROGRESS = {
    "survey_id": "BIGINT",
    "source_id": "BIGINT",
    "sample_size": "BIGINT",
    "interviews_count": "BIGINT",
    "length_of_interview": "BIGINT",
    "completion_rate": "DOUBLE",
    "questionnaire_incidence_rate": "DOUBLE",
    "target_incidence_rate": "DOUBLE",
    "incidence_rate": "DOUBLE",
    "drop_out_rate": "DOUBLE",
    "interview_count_by_status": f"STRUCT({COUNTS})",
}
TABLES = {
    "surveys": SURVEY,
    "sample_sources": SOURCE,
    "survey_progress": PROGRESS,
    "source_progress": PROGRESS,
}


class Cap:
    """At most `limit` requests begin in any `window` seconds. What an earlier process sent is not known."""

    def __init__(self, text):
        count, window = text.split("/")
        self.limit, self.window = int(count), float(window.rstrip("s"))
        self.sent, self.lock, self.pause_until = deque(), Lock(), 0.0

    def wait(self):
        with self.lock:
            now = time.monotonic()
            begin = max(now, self.pause_until)
            if len(self.sent) >= self.limit:
                begin = max(begin, self.sent.popleft() + self.window)
            if begin > now:
                time.sleep(begin - now)
            self.sent.append(begin)

    def pause(self, seconds):
        self.pause_until = max(self.pause_until, time.monotonic() + seconds)


class Api:
    def __init__(self):
        self.cap = Cap(os.environ["CAP"]) if "CAP" in os.environ else None
        self.thread = local()

    def session(self):
        if not hasattr(self.thread, "session"):
            self.thread.session = requests.Session()
            self.thread.session.headers.update(
                {
                    "Authorization-ID": os.environ["API_ID"],
                    "Authorization-Token": os.environ["API_TOKEN"],
                }
            )
        return self.thread.session

    def get(self, path, **query):
        """The answer, or None where there is no such thing."""
        problem = None
        for attempt in range(ATTEMPTS_MAX):
            if self.cap:
                self.cap.wait()
            try:
                answer = self.session().get(f"{os.environ['BASE_URL']}/{path}", params=query, timeout=TIMEOUT_S)
            except requests.RequestException as error:
                problem = error
                time.sleep(2**attempt)
                continue
            if answer.status_code == 404:
                return None
            if answer.status_code == 429:
                seconds = float(answer.headers.get("Retry-After", 60))
                if self.cap:
                    self.cap.pause(seconds)
                else:
                    time.sleep(seconds)
            elif answer.status_code >= 500:
                time.sleep(2**attempt)
            else:
                answer.raise_for_status()
                return answer.json()
            problem = f"{path} answered {answer.status_code}"
        raise SystemExit(f"gave up after {ATTEMPTS_MAX} attempts: {problem}")

    def pages(self, path, name):
        page, pages = 1, 1
        while page <= pages:
            answer = self.get(path, page=page)
            if answer is None:
                return
            yield from answer[name]
            pages = answer["pagination"]["total_pages"]
            page += 1


api = Api()


def children_of(survey):
    """Sources and progress of a survey. One that is gone since it was listed has none."""
    survey_id = survey["id"]
    path = f"surveys/{survey_id}"
    own = api.get(f"{path}/fieldwork_progress")
    sources = list(api.pages(f"{path}/sample_sources", "sample_sources"))
    rows = {"sample_sources": [{"survey_id": survey_id, **source} for source in sources], "source_progress": []}
    rows["survey_progress"] = [] if own is None else [{"survey_id": survey_id, **own["fieldwork_progress"]}]
    for source in sources:
        found = api.get(f"{path}/fieldwork_progress", sample_source_id=source["id"])
        if found is not None:
            keys = {"survey_id": survey_id, "source_id": source["id"]}
            rows["source_progress"].append({**keys, **found["fieldwork_progress"]})
    return rows


def read():
    # A survey that moves between two pages while they are read comes twice.
    surveys = list({survey["id"]: survey for survey in api.pages("surveys", "surveys")}.values())
    rows = {**{table: [] for table in TABLES}, "surveys": surveys}
    if mode == "all":
        with ThreadPoolExecutor(THREADS) as threads:
            for found in threads.map(children_of, surveys):
                for table, added in found.items():
                    rows[table] += added
    return rows


def load(rows):
    """All tables change together. A copy of the progress of each night is kept."""
    database = duckdb.connect(str(directory / "peer.duckdb"))
    database.execute("BEGIN")
    database.execute("CREATE SCHEMA IF NOT EXISTS fieldwork")
    for table, columns in TABLES.items():
        file = directory / f"{table}.ndjson"
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows[table]))
        select = "SELECT * FROM read_json(?, format = 'newline_delimited', columns = ?)"
        declared = ", ".join(f'"{name}" {of}' for name, of in columns.items())
        database.execute(f"CREATE OR REPLACE TABLE fieldwork.{table} ({declared})")
        database.execute(f"INSERT INTO fieldwork.{table} {select}", [str(file), columns])
        file.unlink()
    nights = "fieldwork.progress_by_night"
    night = "SELECT now() AS read_at, * FROM fieldwork.survey_progress"
    database.execute(f"CREATE TABLE IF NOT EXISTS {nights} AS {night} LIMIT 0")
    database.execute(f"INSERT INTO {nights} {night}")
    database.execute("COMMIT")
    database.close()


load(read())
