"""The lines of a system crontab, as a parser of crontabs reads them."""

import json
import sys

from crontab import CronTab

table = CronTab(tab=json.load(sys.stdin), user=False)
print(json.dumps([{"valid": job.is_valid(), "at": str(job.slices), "user": job.user, "command": job.command} for job in table]))
