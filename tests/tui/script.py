"""A run that never was, told second by second: for Pilot tests, stored screens and the pictures in the README.

A desktop of 64 GiB with 16 GiB of swap and a graphics card tokenizes 44.7 GiB of text. Everything is computed from the
second, so every picture of it is the same; what the guard thinks of it, by the guard's own policy.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from memwatch.decide.actions import LadderSettings, OnPressure, Step
from memwatch.decide.monitor import Monitor, verdict_facts
from memwatch.journal.codec import sample_from_json
from memwatch.journal.events import (
    Event,
    action_event,
    exit_event,
    nodes_event,
    progress_event,
    sample_event,
    verdict_event,
)
from memwatch.model.node_rows import NodeRow
from memwatch.model.sample import Gpu, Memory, Paging, Pressure, Process, Sample
from memwatch.model.units import GIB, MIB
from memwatch.tui.model.picture import Picture, ViewKind
from memwatch.tui.model.run_model import RunModel
from tests.decide.machine import Climber

START_T = 1_763_300_000.0
TOTAL_BYTES = int(44.7 * GIB)
RESERVE_BYTES = 4 * GIB
COMMAND = ["/usr/bin/python3", "-m", "memwatch.tokenize", "train_fineweb.txt", "--mode", "memory"]
WARNED_S = 278  # when the guard has just begun to warn of a job that grows
CARD = "NVIDIA GeForce RTX 4070 Ti"


def wave(second: float, period_s: float, depth: float) -> float:
    return depth * math.sin(2 * math.pi * second / period_s)


def process(pid: int, parent: int, state: str, rss: float, cpu_s: float, command: str, swap: float = 0.0) -> Process:
    moved = int(cpu_s * 1.2 * MIB)
    return Process(pid, pid * 7, parent, state, int(rss * GIB), int(swap * GIB), cpu_s, moved, moved // 2, command)


def job_gib(second: float, rate_gib_s: float) -> float:
    return 1.5 + rate_gib_s * second + wave(second, 23, 0.08)


def sample(second: float, gib: float, stalled_s: float = 0.0, paused: bool = False) -> Sample:
    """`stalled_s` is how long programs have waited for memory since the start."""
    used = 17.0 + wave(second, 97, 0.35) + gib
    swapped = max(used - 62.0, 0.0) * 1.3
    workers = 8
    each = (gib - 0.3) / workers
    state = "T" if paused else "R"
    work_s = 0.0 if paused else second
    job = [process(41022, 40990, "T" if paused else "S", 0.31, 0.02 * work_s, "memwatch tokenize train_fineweb.txt")]
    for number in range(workers):
        share = each * (1 + wave(number, 8, 0.03))
        busy = 0.97 - 0.013 * number
        spilled = swapped / 3 / workers
        waits = "D" if 240 < second <= 272 and stalled_s and number == 2 else state
        job.append(process(41031 + number, 41022, waits, share, busy * work_s, f"worker {number + 1}/8", spilled))
    others = (
        process(2210, 1, "S", 6.1, 900, "/usr/lib/firefox/firefox"),
        process(3388, 1, "S", 3.02, 400, "/usr/share/code/code --type=renderer"),
        process(1907, 1, "S", 0.91, 300, "/usr/bin/gnome-shell"),
        process(2988, 1, "S", 0.62, 20, "/usr/bin/python3 /usr/bin/notebook.py"),
        process(1544, 1, "S", 0.31, 8, "/usr/lib/xorg/Xorg"),
    )
    return Sample(
        t=START_T + second,
        clock_s=5000.0 + second,
        memory=Memory(
            64 * GIB, int((64 - min(used - swapped, 63.4)) * GIB), 16 * GIB, int((16 - swapped) * GIB), 8 * GIB
        ),
        pressure=Pressure(
            int(stalled_s * 1e6),
            int(stalled_s * 0.3e6),
            int(0.021 * second * 1e6),
            int(0.008 * second * 1e6),
        ),
        paging=Paging(int(swapped * second * 900), int(swapped * second * 1400), int(second * 3), int(second)),
        job=tuple(job),
        disk_free_bytes=212 * GIB,
        gpus=(Gpu(0, CARD, 0.02, int(1.1 * GIB), 12 * GIB, 41, 28, 285, 0),),
        others=others if int(second) % 10 == 0 else None,
    )


def progress(second: float) -> Event:
    done = int((2.1 * GIB) + 9.6 * MIB * (second + wave(second, 17, 1.2)))
    tokens = int(done / 4.46)
    message = {
        "done": done,
        "total": TOTAL_BYTES,
        "unit": "bytes",
        "tokens": tokens,
        "projected_tokens": int(TOTAL_BYTES / 4.46),
        "output_bytes": 2 * tokens,
        "projected_output_bytes": 2 * int(TOTAL_BYTES / 4.46),
    }
    return progress_event(START_T + second, message)


def start(command: list[str] = COMMAND) -> Event:
    limits = {"reserve_bytes": RESERVE_BYTES, "on_pressure": "shard", "pause_timeout_s": 60.0}
    return {
        "t": START_T,
        "event": "start",
        "schema": 1,
        "run": "20251116-133320-41020",
        "command": command,
        "limits": limits,
        "containment": {},
        "pid": 41022,
    }


def verdict(second: float, level: str, reason: str, seconds_left: float | None = None, **facts: Any) -> Event:
    return verdict_event(START_T + second, level, reason, seconds_left, **facts)


def action(second: float, step: str, by: str, reason: str = "asked for", **more: Any) -> Event:
    facts = {"reason": reason, "deadline_in_s": None, "next": None, **more}
    return action_event(START_T + second, step, [41022, 41031], by, "done", **facts)


def output(second: float, text: str) -> Event:
    return {"t": START_T + second, "event": "output", "text": text}


def bar(second: int) -> str:
    read = 2.1 + second * 0.0094
    done = read / 44.7
    return f"\r\x1b[36mreading\x1b[0m  {100 * done:4.1f} %|{'█' * round(34 * done):<34}| {read:.1f}G/44.7G [9.61MB/s]"


def seconds(until: int, gib: Callable[[int], float], stalled_s: Callable[[int], float] = lambda s: 0.0) -> list[Event]:
    events: list[Event] = []
    for second in range(until + 1):
        events.append(sample_event(sample(second, gib(second), stalled_s(second))))
        if second % 2 == 0:
            events.append(progress(second))
        if second % 60 == 0:
            events.append(output(second, f"\r\x1b[Kblock {second // 60 + 12:04d}: {5.2 + second / 900:.2f} M tokens\n"))
        events.append(output(second, bar(second)))
    return events


def calm() -> list[Event]:
    return judged([start(), *seconds(272, lambda s: job_gib(s, 0.004))])


def brief() -> list[Event]:
    """Enough for most keys."""
    return judged([start(), *seconds(20, lambda s: job_gib(s, 0.004))])


def on_nodes() -> list[Event]:
    """The driver of a run on many machines: one node waits for memory, one is lost."""
    rows = [
        NodeRow("node-01", "working", 8, 112, (118, 126, 127, 128), 740.0 * MIB, 41 * GIB, "calm"),
        NodeRow("node-02", "paused", 8, 87, (119, 120), 310.0 * MIB, 200 * MIB, "act"),
        NodeRow("node-03.a-long-name.cluster.local", "working", 8, 99, (121, 122), 655.0 * MIB, 9 * GIB, "watch"),
        NodeRow("node-04", "lost", 8, 12),
    ]
    nodes = nodes_event(START_T + 20, {"nodes": [row.as_json() for row in rows]})
    counts = {
        "segments": 1024,
        "segments_done": 310,
        "segments_running": 8,
        "segments_retried": 2,
        "segments_failed": 1,
    }
    report = progress_event(START_T + 20.5, {**progress(20.5), **counts, "nodes": 3})
    return [*brief(), nodes, report]


def attached() -> list[Event]:
    """The same run, seen through its folder: nothing of this machine."""
    began = {"t": START_T, "event": "start", "command": ["tokenize s3://corpus/fineweb/*.parquet → s3://corpus/tokens"]}
    note = {"t": START_T + 19, "event": "note", "text": "node node-04 is lost: others make its segments"}
    *_, nodes, report = on_nodes()
    earlier = [{**nodes, "t": START_T + second} for second in range(20)]
    level = verdict_event(START_T + 21, "act", "200 MiB headroom on node-02: its segments are paused", None)
    return [began, note, *earlier, nodes, report, level]


def _grows(second: int) -> float:
    return job_gib(second, 0.02) + max(second - 28, 0) * 0.14


def _stalled_s(second: int) -> float:
    return sum(0.02 + 0.002 * (moment - 235) for moment in range(235, second))


def time_of(event: Event) -> float:
    t = event["t"]
    assert isinstance(t, float)
    return t


def warning() -> list[Event]:
    return judged([start(), *seconds(WARNED_S, _grows, _stalled_s)])


def paused() -> list[Event]:
    """By the guard, when it would be; from then on nothing grows any more."""
    growing = [start(), *seconds(WARNED_S + 10, _grows, _stalled_s)]
    pause = next(event for event in judged(growing, OnPressure.PAUSE) if event["event"] == "action")
    until = int(time_of(pause) - START_T)
    last = sample(until, _grows(until), _stalled_s(until), paused=True)
    still = [replace(last, t=last.t + second, clock_s=last.clock_s + second) for second in range(1, 18)]
    before = [event for event in growing if time_of(event) <= START_T + until]
    return [*judged([*before, *map(sample_event, still)]), pause]


def sharded() -> list[Event]:
    events = [start(), *seconds(WARNED_S, _grows, _stalled_s), action(WARNED_S + 0.4, "shard", "user")]
    for second in range(WARNED_S + 1, WARNED_S + 58):
        gib = max(_grows(WARNED_S) - (second - WARNED_S) * 1.4, 0.9)
        events += [sample_event(sample(second, gib, _stalled_s(WARNED_S))), progress(second)]
        if second % 15 == 0:
            done = f"\r\x1b[Kshard {second // 15 - 19:04d} done: 500 M tokens, 953.7 MiB\n"
            events.append(output(second, done))
    return judged(events)


def judged(events: list[Event], on_pressure: OnPressure = OnPressure.WARN) -> list[Event]:
    """With the guard's verdict on every sample, and the first thing it would do by then to the job."""
    monitor, ladder = Monitor(lambda _: RESERVE_BYTES), Climber(LadderSettings(on_pressure))
    told: list[Event] = []
    has_acted = False
    for event in events:
        told.append(event)
        if event["event"] != "sample":
            continue
        outlook, verdict = monitor.observe(sample_from_json(event))
        level, facts = verdict.level.name.lower(), verdict_facts(outlook, verdict)
        told.append(verdict_event(time_of(event), level, verdict.reason, verdict.seconds_left, **facts))
        wanted = ladder.step(verdict, outlook)
        if wanted is not None and wanted.step != Step.WARN and not wanted.is_brief and not has_acted:
            has_acted = True
            more = {"deadline_in_s": 60.0, "next": wanted.next_step}
            told.append(action(time_of(event) - START_T, wanted.step, "guard", wanted.reason, **more))
    return told


def watched() -> list[Event]:
    """A machine without a job, on which a browser slowly grows."""
    events = []
    for second in range(180):
        told = replace(sample(second, 2.0 + 0.03 * second), job=(), disk_free_bytes=None)
        others = tuple(
            replace(process, cpu_s=process.cpu_s + second * 0.9 / (number + 1))
            for number, process in enumerate(sample(0, 2.0).others or ())
        )
        events.append(sample_event(replace(told, others=others)))
    return judged(events)


def ended(second: float, code: int = 0) -> Event:
    return exit_event(START_T + second, code, None, None, left_behind=0)


class ScriptedSource:
    """Tells a script as if it had just happened, and notes what is sent to the guard."""

    def __init__(self, events: list[Event], kind: ViewKind = ViewKind.RUN) -> None:
        self.kind = kind
        self.sent: list[Event] = []
        self.hears = True
        self._story = RunModel(kind, has_job=kind != ViewKind.WATCH)
        self._now_t = START_T
        for event in sorted(events, key=lambda event: float(str(event["t"]))):
            self._take(event)

    def start(self, changed: Callable[[list[Event]], None], ended: Callable[[], None]) -> None:
        self._changed, self.end = changed, ended

    def stop(self) -> None:
        pass

    def picture(self) -> Picture:
        return self._story.picture(self._now_t)

    def send(self, message: Event) -> bool:
        if message.get("command") != "resize":
            self.sent.append(message)
        return self.hears

    def tell(self, *events: Event) -> None:
        for event in events:
            self._take(event)
        self._changed(list(events))

    def _take(self, event: Event) -> None:
        self._now_t = max(self._now_t, float(str(event["t"])))
        self._story.take(event)
