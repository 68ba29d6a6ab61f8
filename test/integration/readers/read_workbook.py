"""Reads workbooks with openpyxl and with pandas, and prints what each cell is.

stdin: a list of paths. A cell is null, a boolean, a number, {"text": ...}, or {"time": milliseconds}.
"""
import datetime
import json
import re
import sys

import openpyxl
import pandas

EPOCH = datetime.datetime(1970, 1, 1)
# openpyxl leaves these escapes of the format as they are.
ESCAPED = re.compile("_x(00[01][0-9A-F]|005F|FFF[EF])_", re.IGNORECASE)
# LibreOffice saves a boolean as one of these formulas.
BOOLEANS = {"=TRUE()": True, "=FALSE()": False}


def plain(value):
    if isinstance(value, datetime.datetime):
        return {"time": round((value - EPOCH) / datetime.timedelta(milliseconds=1))}
    if isinstance(value, str):
        return {"text": ESCAPED.sub(lambda found: chr(int(found[1], 16)), value)}
    return value


def cell(cell):
    if cell.data_type == "f":
        return BOOLEANS[cell.value]
    assert cell.data_type in "nsdb", cell.data_type
    return plain(cell.value)


def sheet(of):
    rows = list(of.iter_rows())
    return {
        "name": of.title,
        "pane": of.freeze_panes,
        "filter": of.auto_filter.ref,
        "bold": all(one.font.bold and one.font.name == "Calibri" for one in rows[0]),
        "comments": [None if one.comment is None else one.comment.text for one in rows[0]],
        "rows": [[cell(one) for one in row] for row in rows],
    }


def frames(path):
    read = pandas.read_excel(path, sheet_name=None, header=None, dtype=object, keep_default_na=False, na_values=[])
    return {
        name: [[None if value == "" or value is pandas.NaT else plain(value) for value in row] for row in frame.values.tolist()]
        for name, frame in read.items()
    }


def workbook(path):
    return {"sheets": [sheet(one) for one in openpyxl.load_workbook(path)], "frames": frames(path)}


print(json.dumps([workbook(path) for path in json.load(sys.stdin)]))
