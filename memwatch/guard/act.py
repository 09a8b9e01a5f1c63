"""The only sender of signals to the job. Every process is signalled by what it is, not by its number (signals.py)."""

import signal
from collections.abc import Callable

from memwatch.core.sample import Process
from memwatch.guard.signals import signal_process
from memwatch.guard.watcher import Watcher

# A tree that forks while it is being stopped is looked at again until nothing new is found.
MOST_LOOKS = 50

Tree = Callable[[], tuple[Process, ...]]


class Actor:
    """`tree` looks at the job's processes now, parents before children."""

    def __init__(self, tree: Tree, watcher: Watcher) -> None:
        self._tree = tree
        self._watcher = watcher
        self.is_paused = False

    def pause(self) -> list[int]:
        """Stop the whole tree, with the children born meanwhile. Returns the pids that were stopped."""
        stopped: list[int] = []
        seen: set[tuple[int, int]] = set()
        for _ in range(MOST_LOOKS):
            new = [process for process in self._alive() if (process.pid, process.start_ticks) not in seen]
            if not new:
                break
            # Told first: if we die between the two, the watcher continues what was never stopped, which does no harm.
            self._watcher.will_stop(new)
            stopped += self._send(new, signal.SIGSTOP)
            seen |= {(process.pid, process.start_ticks) for process in new}
        self.is_paused = True
        return stopped

    def resume(self) -> list[int]:
        continued = self._send(list(reversed(self._alive())), signal.SIGCONT)
        self.is_paused = False
        self._watcher.all_continued()
        return continued

    def stop(self) -> list[int]:
        """Ask the whole tree to end; a paused one must run on to hear it."""
        asked = self._send(self._alive(), signal.SIGTERM)
        if self.is_paused:
            self.resume()
        return asked

    def kill(self) -> list[int]:
        killed = self._send(self._alive(), signal.SIGKILL)
        self.is_paused = False
        self._watcher.all_continued()
        return killed

    def pass_on(self, number: int, to_all: bool) -> list[int]:
        """A signal that memwatch was sent and the job is meant to have."""
        alive = self._alive()
        return self._send(alive if to_all else alive[:1], number)

    def _alive(self) -> list[Process]:
        return [process for process in self._tree() if process.state not in "ZX"]

    def _send(self, processes: list[Process], number: int) -> list[int]:
        return [p.pid for p in processes if signal_process(p.pid, p.start_ticks, number)]
