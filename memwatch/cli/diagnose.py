"""memwatch diagnose: why did my desktop freeze?

Freeze 14:27:10 - 14:31:52 (4 min 42 s)                  confidence: high
WHAT      Swap thrashing: python prepare.py (41031) grew 2.7 -> 58.0 GiB in 9 min 02 s.
...
"""

import json
import os
import re
import time
from typing import TYPE_CHECKING, Any

import click

from memwatch.cli.completion import complete_runs
from memwatch.diagnose.collect.all_evidence import Wanted
from memwatch.diagnose.findings import Diagnosis
from memwatch.errors import ExitCode, UsageError
from memwatch.storage.address import is_remote
from memwatch.whole_file import STANDARD_OUTPUT, output_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memwatch.journal.events import Event

DAY_S = 86400.0
_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*(min|m|h|d|w)")
_UNITS_S = {"m": 60.0, "min": 60.0, "h": 3600.0, "d": DAY_S, "w": 7 * DAY_S}


class Age(click.ParamType):  # type: ignore[type-arg]  # Generic only in newer clicks.
    name = "AGE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        match = _AGE.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"{value!r} is not an age; write it as 90min, 12h or 7d", param, ctx)
        return float(match[1]) * _UNITS_S[match[2]]


@click.command()
@click.argument("run", required=False, shell_complete=complete_runs("last"))
@click.option("--log", "log_file", metavar="FILE|-", help="Kernel log of any machine, as pasted; reads nothing else.")
@click.option(
    "--boot", type=int, metavar="N", help="Boot whose journal to read, and nothing else: -1 is the previous one."
)
@click.option("--since", "since_s", type=Age(), default="3d", show_default=True, help="Period to examine.")
@click.option("--script", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
              help="Python script to examine instead; it is not run.")  # fmt: skip
@click.option("--input", "input_path", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
              help="Input file of the script, to forecast its memory.")  # fmt: skip
@click.option("--fix", is_flag=True,
              help="Write a copy of the script that streams its tokens; runs both on a sample.")  # fmt: skip
@click.option("--show-commands", is_flag=True,
              help="Show command lines; in the page also paths, user and host names.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--html", "html_file", type=click.Path(allow_dash=True), metavar="FILE",
              help="Also write a page with charts; - is standard output.")  # fmt: skip
def diagnose(
    run: str | None,
    log_file: str | None,
    boot: int | None,
    since_s: float,
    script: str | None,
    input_path: str | None,
    fix: bool,
    show_commands: bool,
    as_json: bool,
    html_file: str | None,
) -> int:
    """Explain why the machine froze or a job was killed: the evidence, what is ruled out, and what to do.

    RUN is an id from `memwatch runs`, `last`, the path of a journal, or the output folder of a run by segments: then
    the findings name node and segment. Without RUN, diagnose examines the whole period of --since.

    --log takes a kernel log or a whole issue thread, with any time stamps or none, quoted, compressed (gzip, bzip2,
    xz), or as `journalctl -o json`.

    With --script, it reads a Python script or notebook (without running it) and shows the lines that hold all data in
    memory.

    --fix writes FILE_streamed.py beside the script, for a list of tokens that can be streamed to a file, and shows the
    difference. To prove it, it runs the script and the copy on a sample of --input, in a temporary folder, with limits
    on time and memory: the same bytes, and memory that does not grow. Where it is not sure, it says why and writes
    nothing.

    Exit code 0 if no problem was found, 3 if one was.
    """
    if html_file == STANDARD_OUTPUT and as_json:
        raise UsageError("only one of --json and --html can go to standard output")
    if script is not None:
        if html_file is not None:
            raise UsageError("--html cannot be used with --script: a script has no recorded samples to draw")
        if run is not None:
            raise UsageError("give either RUN or --script, not both")
        from memwatch.cli.script import fix_script, show_script

        return fix_script(script, input_path) if fix else show_script(script, input_path, as_json)
    if fix:
        raise UsageError("--fix needs --script: it is the file to rewrite")
    if log_file is not None or boot is not None:
        if run is not None:
            raise UsageError("with --log or --boot only that log is read, so a run cannot be named")
        return _show_log(log_file, boot, as_json, html_file, show_commands)
    if input_path is not None:
        raise UsageError("--input needs --script: it is the file that the script reads")
    now_t = time.time()
    if run is not None and (is_remote(run) or os.path.isdir(run)):
        if html_file is not None:
            raise UsageError("--html draws one machine; name a journal below .memwatch-journals of the folder instead")
        from memwatch.cluster.run_diagnosis import diagnose_folder

        return _show_diagnosis(diagnose_folder(run, now_t, show_commands), now_t, as_json)
    return _show_machine(Wanted(now_t, now_t - since_s, run, show_commands), as_json, html_file)


def _show_log(log_file: str | None, boot: int | None, as_json: bool, html_file: str | None, show_commands: bool) -> int:
    """A log alone is the evidence: of another machine, or of an older boot of this one."""
    from memwatch.diagnose.collect.pasted_log import boot_evidence, pasted_evidence
    from memwatch.diagnose.conclude import diagnose as diagnosed

    if log_file is not None and boot is not None:
        raise UsageError("--log and --boot name two different logs; use one")
    now_t = time.time()
    evidence = boot_evidence(boot, now_t) if boot is not None else pasted_evidence(str(log_file), now_t)
    diagnosis = diagnosed(evidence)
    if html_file is not None:
        _write_page((), diagnosis, html_file, show_commands)
    return _show_diagnosis(diagnosis, now_t, as_json, is_silent=html_file == STANDARD_OUTPUT)


def _show_diagnosis(diagnosis: Diagnosis, now_t: float, as_json: bool, is_silent: bool = False) -> int:
    from memwatch.cli.diagnosis_text import as_object, report, width

    if as_json:
        click.echo(json.dumps(as_object(diagnosis, now_t), indent=2))
    elif not is_silent:
        click.echo("\n".join(report(diagnosis, now_t, width())))
    return ExitCode.PROBLEM_FOUND if diagnosis.findings else ExitCode.OK


def _show_machine(wanted: Wanted, as_json: bool, html_file: str | None) -> int:
    from memwatch.diagnose.collect.all_evidence import collect
    from memwatch.diagnose.conclude import diagnose as diagnosed
    from memwatch.diagnose.page_events import page_events

    diagnosis = diagnosed(collect(wanted))
    if html_file is not None:
        _write_page(page_events(wanted, diagnosis), diagnosis, html_file, wanted.show_commands)
    return _show_diagnosis(diagnosis, wanted.now_t, as_json, is_silent=html_file == STANDARD_OUTPUT)


def _write_page(events: "Iterable[Event]", diagnosis: Diagnosis, path: str, show_commands: bool) -> None:
    from memwatch.report.page import report_page
    from memwatch.report.privacy import names_of_this_machine

    page = report_page(events, diagnosis, show_commands, private_names=names_of_this_machine())
    with output_file(path) as file:
        file.write(page)
