"""Validates Kubernetes resources strictly against the schemas of every Kubernetes that kubernetes-validate ships, from `first` on.

Stdin: {"first": "1.29", "resources": {name: resource}}. Prints {"versions": [...], "problems": [...]}.
"""
import json
import re
import sys
import warnings
from importlib.resources import files

import kubernetes_validate

warnings.simplefilter("ignore")
task = json.load(sys.stdin)


def number(version):
    return [int(part) for part in version.split(".")]


shipped = (files("kubernetes_validate") / "kubernetes-json-schema").iterdir()
names = [re.fullmatch(r"v(\d+\.\d+)\.\d+-local-strict", entry.name) for entry in shipped]
versions = sorted((name[1] for name in names if name), key=number)
versions = [version for version in versions if number(version) >= number(task["first"])]


def problems_of(name, resource, version):
    try:
        kubernetes_validate.validate(resource, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        yield f"{name}, Kubernetes {version}: {error.message}"
    except kubernetes_validate.SchemaNotFoundError as error:
        yield f"{name}, Kubernetes {version}: {error.message}"


problems = [
    problem
    for version in versions
    for name, resource in task["resources"].items()
    for problem in problems_of(name, resource, version)
]
print(json.dumps({"versions": versions, "problems": problems}))
