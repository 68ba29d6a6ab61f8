"""Reads a CronWorkflow with the models of Argo's API, and prints what they have kept of it: all but unknown fields."""

import json
import sys

from hera.workflows.models import CronWorkflow

read = CronWorkflow.model_validate(json.load(sys.stdin))
print(read.model_dump_json(by_alias=True, exclude_unset=True))
