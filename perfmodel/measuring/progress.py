"""What a campaign reports while it runs, as every long task does."""

from __future__ import annotations

from perfmodel.progress import Progress as Progress
from perfmodel.progress import Silent as Silent
from perfmodel.progress import task as task
