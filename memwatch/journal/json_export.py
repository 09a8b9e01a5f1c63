"""A run, or the machine's record, for other programs: as a table, as JSON, as a page.

Tables and JSON hold one event at a time, however long the journal. Command lines, where people put passwords and names
of their files, are told only when asked for; so are the job's folder and its own words.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TextIO

from memwatch.journal.events import Event
from memwatch.model.programs import program_name


def write_json(events: Iterable[Event], file: TextIO) -> None:
    """One object with a list of events, an event a line: for whoever reads all of it and whoever reads by lines."""
    file.write('{"schema": 1, "events": [')
    separator = "\n"
    for event in events:
        file.write(separator + json.dumps(event, separators=(",", ":")))
        separator = ",\n"
    file.write("\n]}\n")


def without_commands(events: Iterable[Event]) -> Iterator[Event]:
    for event in events:
        match event["event"]:
            case "start":
                event = event | {"command": [_program(event.get("command"))]}
                event.pop("cwd", None)
            case "sample":
                event = event | {name: _named(event[name]) for name in ("job", "others") if name in event}
            case "output":
                event = {key: value for key, value in event.items() if key != "text"}
        yield event


def _program(command: object) -> str:
    return program_name(" ".join(map(str, command))) if isinstance(command, list) else ""


def _named(processes: object) -> object:
    if not isinstance(processes, list):
        return []
    return [
        {**process, "command": program_name(str(process.get("command", "")))}
        for process in processes
        if isinstance(process, Mapping)
    ]
