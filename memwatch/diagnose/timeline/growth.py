"""Who grew: the processes seen in samples, each with its lowest size of the last minutes and its highest since.

A process is its pid and its start time. Sizes are RAM and swap together, so that what is swapped out does not shrink.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from memwatch.model.programs import program_name
from memwatch.model.sample import Process

LOOK_BACK_S = 600.0
MOST_TRACKED = 256
SHOWN_GROWERS = 3


@dataclass(frozen=True, slots=True)
class Growth:
    pid: int
    name: str
    from_bytes: int
    to_bytes: int
    from_t: float
    to_t: float
    swapped_bytes: int = 0  # at most, of what it took

    @property
    def grown_bytes(self) -> int:
        return self.to_bytes - self.from_bytes


@dataclass(slots=True)
class _Track:
    pid: int
    command: str
    seen_t: float
    size_bytes: int
    low: tuple[int, float]
    earlier_low: tuple[int, float]
    high: tuple[int, float]
    swapped_bytes: int


class Growths:
    """Lows are kept for two spans of `LOOK_BACK_S`, the present one and the one before, and pass on together."""

    def __init__(self, show_commands: bool = False) -> None:
        self._show_commands = show_commands
        self._tracks: dict[tuple[int, int], _Track] = {}
        self._span_t: float | None = None

    def see(self, processes: Iterable[Process], t: float, hold: bool) -> None:
        """`hold`: something is going on, and what was low before it must not be forgotten."""
        if self._span_t is None or t < self._span_t:
            self._span_t = t
        elif not hold and t - self._span_t > LOOK_BACK_S:
            self._pass_on(t)
        for process in processes:
            self._see(process, t)
        if len(self._tracks) > 2 * MOST_TRACKED:
            self._forget()

    def growers(self, since_t: float) -> tuple[Growth, ...]:
        """The fastest growing first; those that were still seen after `since_t`."""
        grown = [growth for growth in self._all(since_t) if growth.grown_bytes > 0]
        return tuple(sorted(grown, key=lambda growth: -growth.grown_bytes)[:SHOWN_GROWERS])

    def swapped(self, since_t: float) -> tuple[Growth, ...]:
        """Those whose memory was pushed out, the most first."""
        swapped = [growth for growth in self._all(since_t) if growth.swapped_bytes > 0]
        return tuple(sorted(swapped, key=lambda growth: -growth.swapped_bytes)[:SHOWN_GROWERS])

    def biggest(self, since_t: float) -> tuple[Growth, ...]:
        return tuple(sorted(self._all(since_t), key=lambda growth: -growth.to_bytes)[:SHOWN_GROWERS])

    def _all(self, since_t: float) -> list[Growth]:
        found = []
        for track in self._tracks.values():
            low = min(track.earlier_low, track.low, key=lambda point: (point[0], -point[1]))
            if track.seen_t >= since_t and track.high[1] >= low[1]:
                name = track.command if self._show_commands else program_name(track.command)
                sizes = (low[0], track.high[0], low[1], track.high[1])
                found.append(Growth(track.pid, name, *sizes, track.swapped_bytes))
        return found

    def _see(self, process: Process, t: float) -> None:
        now = (process.taken_bytes, t)
        track = self._tracks.get((process.pid, process.start_ticks))
        if track is None:
            key = (process.pid, process.start_ticks)
            self._tracks[key] = _Track(process.pid, process.command, t, now[0], now, now, now, process.swap_bytes)
            return
        track.swapped_bytes = max(track.swapped_bytes, process.swap_bytes)
        track.command = process.command  # It may have become another program.
        track.seen_t, track.size_bytes = t, now[0]
        # It grew from when it was last at its lowest to when it was first at its highest.
        if now[0] <= track.low[0]:
            track.low = now
        if now[0] <= min(track.low[0], track.earlier_low[0]) or now[0] > track.high[0]:
            track.high = now

    def _pass_on(self, t: float) -> None:
        self._span_t = t
        for track in self._tracks.values():
            now = (track.size_bytes, track.seen_t)
            track.earlier_low, track.low = track.low, now
            track.high = now

    def _forget(self) -> None:
        kept = sorted(self._tracks.items(), key=lambda item: (item[1].seen_t, item[1].size_bytes))[-MOST_TRACKED:]
        self._tracks = dict(kept)
