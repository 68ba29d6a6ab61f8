"""
A Singer tap, made with the SDK of Meltano (https://sdk.meltano.com). Its streams are parents and children, as the guide "Parent-Child
Streams" shows. Its config names the streams, and says whether the list of surveys is incremental.
"""

from datetime import datetime, timezone

from singer_sdk import RESTStream, Tap
from singer_sdk import typing as th
from singer_sdk.exceptions import RetriableAPIError
from singer_sdk.pagination import JSONPathPaginator, SinglePagePaginator

STATUSES = (
    "complete incomplete quota_full screen_out above_target manual_action pending_analysis speeder straightliner "
    "failed_quality_check inappropriate_language"
).split()
TYPES = {
    "integer": th.IntegerType,
    "number": th.NumberType,
    "text": th.StringType,
    "time": th.DateTimeType,
    "boolean": th.BooleanType,
}


def properties(**names):
    """The properties of each type, as in `integer="id sample_size"`."""
    return [th.Property(name, TYPES[kind]) for kind, text in names.items() for name in text.split()]


STATUS = th.ObjectType(*properties(integer="individuals", number="percentage"))
PROGRESS = [
    *properties(integer="sample_size interviews_count length_of_interview"),
    *properties(number="completion_rate questionnaire_incidence_rate target_incidence_rate incidence_rate drop_out_rate"),
    th.Property("interview_count_by_status", th.ObjectType(*(th.Property(status, STATUS) for status in STATUSES))),
]


def in_utc(text):
    """Cursor values are compared as text, and the target ignores offsets. This API sends several, so times are brought to UTC."""
    return datetime.fromisoformat(text).astimezone(timezone.utc).isoformat(timespec="microseconds")


class FieldworkStream(RESTStream):
    # One bookmark for a whole stream, instead of one for each survey: the guide recommends it where there are many parents.
    state_partitioning_keys = ()

    def _write_schema_message(self):
        """The SDK repeats the schema of a child for each parent, and target-duckdb commits before each. So it is written once."""
        if not getattr(self, "has_written_schema", False):
            super()._write_schema_message()
        self.has_written_schema = True

    @property
    def url_base(self):
        return self.config["base_url"]

    @property
    def http_headers(self):
        return {
            "Authorization-ID": self.config["api_id"],
            "Authorization-Token": self.config["api_token"],
        }

    # "Custom response validation": a survey that is gone has neither sources nor progress.
    def validate_response(self, response):
        if response.status_code != 404:
            super().validate_response(response)

    def get_new_paginator(self):
        return JSONPathPaginator("$.pagination.next_page")

    def get_url_params(self, context, next_page_token):
        return {} if next_page_token is None else {"page": next_page_token}

    # "Custom backoff": wait as long as Retry-After says. The default waits grow from a second, five attempts in all.
    def backoff_wait_generator(self):
        def seconds(error):
            header = error.response.headers.get("Retry-After") if isinstance(error, RetriableAPIError) else None
            return int(header) if header else 1

        return self.backoff_runtime(value=seconds)


class Surveys(FieldworkStream):
    name = "surveys"
    path = "/surveys"
    primary_keys = ("id",)
    replication_key = "updated_at"
    records_jsonpath = "$.surveys[*]"
    schema = th.PropertiesList(
        *properties(
            integer="id owner_organization_id respondent_questions_count respondent_iterations_count",
            time="created_at updated_at",
            text="title hashid project_id status transition_style",
        )
    ).to_dict()

    def get_url_params(self, context, next_page_token):
        params = super().get_url_params(context, next_page_token)
        since = self.get_starting_timestamp(context)
        return params if since is None else {**params, "updated_since": since.isoformat()}

    def post_process(self, row, context=None):
        return {**row, "created_at": in_utc(row["created_at"]), "updated_at": in_utc(row["updated_at"])}

    def get_child_context(self, record, context):
        return {"survey_id": record["id"]}


class SampleSources(FieldworkStream):
    name = "sample_sources"
    path = "/surveys/{survey_id}/sample_sources"
    primary_keys = ("survey_id", "id")
    parent_stream_type = Surveys
    records_jsonpath = "$.sample_sources[*]"
    schema = th.PropertiesList(
        *properties(
            integer="survey_id id sample_size",
            time="created_at updated_at",
            text="provider country_code description name hashid",
            boolean="panelist_id_required",
        )
    ).to_dict()

    def post_process(self, row, context=None):
        times = {"created_at": in_utc(row["created_at"]), "updated_at": in_utc(row["updated_at"])}
        return {**row, **times, "survey_id": context["survey_id"]}

    def get_child_context(self, record, context):
        return {"survey_id": context["survey_id"], "source_id": record["id"]}


class Progress(FieldworkStream):
    path = "/surveys/{survey_id}/fieldwork_progress"
    records_jsonpath = "$.fieldwork_progress"

    def get_new_paginator(self):
        return SinglePagePaginator()

    def post_process(self, row, context=None):
        return {**row, **context}


class SurveyProgress(Progress):
    name = "survey_progress"
    primary_keys = ("survey_id",)
    parent_stream_type = Surveys
    schema = th.PropertiesList(*properties(integer="survey_id"), *PROGRESS).to_dict()


class SourceProgress(Progress):
    name = "source_progress"
    primary_keys = ("survey_id", "source_id")
    parent_stream_type = SampleSources
    schema = th.PropertiesList(*properties(integer="survey_id source_id"), *PROGRESS).to_dict()

    def get_url_params(self, context, next_page_token):
        return {"sample_source_id": context["source_id"]}


class TapFieldwork(Tap):
    name = "tap-fieldwork"
    config_jsonschema = th.PropertiesList(
        th.Property("base_url", th.StringType, required=True),
        th.Property("api_id", th.StringType, required=True),
        th.Property("api_token", th.StringType, required=True, secret=True),
        th.Property("mode", th.StringType, required=True, allowed_values=["all", "changed", "surveys"]),
    ).to_dict()

    def discover_streams(self):
        if self.config["mode"] == "surveys":
            return [Surveys(self)]
        # Where children change without their parent, the guide says to ignore the replication key of the parent. Then every run
        # reads all parents.
        for children in (SampleSources, SurveyProgress, SourceProgress):
            children.ignore_parent_replication_key = self.config["mode"] == "all"
        return [Surveys(self), SampleSources(self), SurveyProgress(self), SourceProgress(self)]


if __name__ == "__main__":
    TapFieldwork.cli()
