"""memwatch record: record the machine's memory, so that diagnose can explain a freeze afterwards."""

import json
import os
import sys
from dataclasses import asdict

import click

from memwatch.command_line import SECONDS
from memwatch.recorder.recording import RecorderSettings


@click.command()
@click.option("--interval", type=SECONDS, default=5.0, show_default=True, metavar="SECS",
              help="Recording interval; under memory pressure it is 1 second.")  # fmt: skip
@click.option("--commands", is_flag=True, help="Record full command lines, not only program names.")
def record(interval: float, commands: bool) -> int:
    """Record memory, swap, pressure, GPU and the largest programs of this machine, until Ctrl-C or SIGTERM.

    After a freeze, `memwatch diagnose` reads the record. `memwatch replay machine` and `memwatch export machine` show
    it. It covers the last week in less than 200 MiB, survives a reset, and only you can read it. To run it always, use
    the systemd user unit recipes/memwatch-record.service.
    """
    settings = json.dumps(asdict(RecorderSettings(interval, commands)))
    # In place of this process, which has grown by all that a command line needs.
    os.execv(sys.executable, [sys.executable, "-m", "memwatch.recorder", settings])
