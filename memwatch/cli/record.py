"""memwatch record: write down how the whole machine is doing, for the day it freezes."""

import json
import os
import sys
from dataclasses import asdict

import click

from memwatch.command_line import SECONDS
from memwatch.recorder.recording import RecorderSettings


@click.command()
@click.option("--interval", type=SECONDS, default=5.0, show_default=True, metavar="SECS",
              help="Write this often while nothing is wrong; in trouble it is every second.")  # fmt: skip
@click.option("--commands", is_flag=True, help="Keep whole command lines, not only the names of programs.")
def record(interval: float, commands: bool) -> int:
    """Record the whole machine until it is told to stop: memory, swap, pressure, GPU, and the biggest programs.

    memwatch diagnose reads it after a freeze, memwatch export machine shows it. It keeps a week, in 200 MB at most,
    readable by you alone, and survives a reset. recipes/memwatch-record.service has systemd keep it running.
    """
    settings = json.dumps(asdict(RecorderSettings(interval, commands)))
    # In place of this process, which has grown by all that a command line needs.
    os.execv(sys.executable, [sys.executable, "-m", "memwatch.recorder", settings])
