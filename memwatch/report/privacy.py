"""What a page must not disclose: paths, user and host names. `Redactor` takes them out of a text.

Lines of logs and of a job's output are not shown at all, only what was read from them (`quoted`). Command lines are
left out where they are read (`program_name`), names that people chose where a sentence is made (`chosen`). The system's
own paths stay: advice names them.
"""

import contextlib
import getpass
import re
import socket
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from memwatch.diagnose.findings import CHOSEN_NAME, Diagnosis, Finding, Held, Shareable, Source

PATH, NAME, HOST = "[path]", CHOSEN_NAME, "[host]"
SHORTEST_NAME = 3  # a shorter one is a part of too many words
_SYSTEM = r"(?:proc|sys|dev|etc|swapfile|var/log)\b"
# A path begins a word; "in 3 s/turn" and "I/O" hold none. A cgroup's path names users, containers and jobs.
_PATHS = re.compile(rf"(?<![\w/.)\]])(?:~|\.{{1,2}})?/(?!{_SYSTEM})[^\s'\"`,;:()<>|]+(?:\\ [^\s'\"`,;:()<>|]+)*")
_WINDOWS_PATHS = re.compile(r"(?<![\w%])[A-Za-z]:\\[^\s'\"`,;()<>|]+")
_SERVERS = re.compile(r"(?<=\bserver )(?!\[)\S+")
_ADDRESSES = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[\w.+-]+@[\w-]+\.[\w.-]*\w")
_ORDINARY = frozenset({"root", "user", "localhost", "python", "linux", "memory", "machine", "home", "admin"})


class Redactor:
    """`names`: of users and hosts, which are taken out wherever they stand as a word."""

    def __init__(self, names: Iterable[str]) -> None:
        kept = {name for name in names if len(name) >= SHORTEST_NAME and name.lower() not in _ORDINARY}
        words = "|".join(map(re.escape, sorted(sorted(kept), key=len, reverse=True)))
        self._names = re.compile(rf"(?<![A-Za-z0-9])(?:{words})(?![A-Za-z0-9])", re.IGNORECASE) if words else None

    def __call__(self, text: str) -> str:
        text = _WINDOWS_PATHS.sub(PATH, _PATHS.sub(PATH, text))
        text = _ADDRESSES.sub(HOST, _SERVERS.sub(HOST, text))
        return text if self._names is None else self._names.sub(NAME, text)

    def diagnosis(self, diagnosis: Diagnosis) -> Diagnosis:
        return replace(
            diagnosis,
            findings=tuple(map(self._finding, diagnosis.findings)),
            ruled_out=self._all(diagnosis.ruled_out),
            not_known=self._all(diagnosis.not_known),
            sources=tuple(self._source(source) for source in diagnosis.sources),
        )

    def _finding(self, finding: Finding) -> Finding:
        return replace(
            finding,
            what=self._shared(finding.what),
            why=self._shared(finding.why),
            evidence=self._all(finding.evidence),
            advice=self._all(finding.advice),
            missing=self._all(finding.missing),
            held=None if finding.held is None else self._held(finding.held),
        )

    def _held(self, held: Held) -> Held:
        return replace(held, parts=tuple((self(name), size) for name, size in held.parts))

    def _source(self, source: Source) -> Source:
        return replace(
            source,
            name=self._shared(source.name),
            found=None if source.found is None else self(source.found),
            missing=None if source.missing is None else self(source.missing),
        )

    def _all(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(self._shared, texts))

    def _shared(self, text: str) -> str:
        """What people chose or wrote was left out where the text was made; the search is for what nobody marked."""
        return self(text.safe if isinstance(text, Shareable) else text)


def names_of_this_machine() -> list[str]:
    """The user, the name of the home folder, and the host: what a page of this machine could give away."""
    names = [Path.home().name]
    with contextlib.suppress(OSError, KeyError):  # A user id without a name.
        names.append(getpass.getuser())
    host = socket.gethostname()
    return [*names, host, host.partition(".")[0]]
