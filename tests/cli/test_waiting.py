"""A run that waits for another one says so, in lines and on the screen."""

import io

from memwatch.cli.plain import PlainView
from memwatch.tui.draw import banner
from memwatch.tui.draw.look import Look
from memwatch.tui.model.picture import ViewKind
from memwatch.tui.model.run_model import RunModel

REASON = "run 20261116-1421 (prepare.py) goes first; this one resumes when it ends or 3.1 GiB are free"
WAITS = {"waits_for": {"run": "20261116-1421", "command": "prepare.py", "pid": 7, "reason": REASON}}


def verdict(t: float, **more: object) -> dict[str, object]:
    return {"t": t, "event": "verdict", "level": "watch", "reason": "1.0 GiB left", "seconds_left": None, **more}


PAUSE = {"t": 1.0, "event": "action", "action": "pause", "by": "guard", "pids": [1], "next": "resume",
         "deadline_in_s": None, "reason": "run 20261116-1421 (prepare.py) started earlier and goes first"}  # fmt: skip


def test_lines_say_once_for_whom_the_job_waits() -> None:
    stream = io.StringIO()
    view = PlainView(stream)
    next_one = {"waits_for": {"run": "20261116-1422", "command": "b.py", "pid": 8, "reason": "run 20261116-1422 ..."}}
    for event in (verdict(0), PAUSE, verdict(1, **WAITS), verdict(2, **WAITS), verdict(3, **next_one), verdict(4)):
        view.show(event)
    assert stream.getvalue().splitlines() == [
        "memwatch: paused the job: run 20261116-1421 (prepare.py) started earlier and goes first",
        f"memwatch: waiting: {REASON}",
        "memwatch: waiting: run 20261116-1422 ...",
    ]


def test_the_banner_says_for_whom_the_job_waits() -> None:
    assert REASON in shown(verdict(2, **WAITS))
    assert "PAUSED" in shown(verdict(2))
    assert "goes first" not in shown(verdict(2))


def test_forged_words_do_not_reach_the_screen() -> None:
    assert "goes first" not in shown(verdict(2, waits_for=["goes first"]))
    assert "\x1b" not in shown(verdict(2, waits_for={"reason": "\x1b[2J goes first"}))


def shown(judged: dict[str, object]) -> str:
    story = RunModel(ViewKind.RUN)
    for event in ({"t": 0.0, "event": "start", "command": ["x"]}, PAUSE, judged):
        story.take(event)
    (line,) = banner.lines(story.picture(3.0), Look(), 160, 1)
    return "".join(span.text for span in line)
