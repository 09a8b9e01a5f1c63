"""A probe that plays back samples: for tests and demos, through the same interface as Machine."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from memwatch.model.sample import Process, Sample


class ScriptedMachine:
    """Each call gives the next sample, stamped with the caller's time; after the last one, the last one again."""

    def __init__(self, samples: Sequence[Sample], missing: Sequence[tuple[str, str]] = ()) -> None:
        if not samples:
            raise ValueError("a script needs at least one sample")
        self.output_folder: str | None = None
        self.played = 0
        self._samples = samples
        self._missing = missing

    def sample(
        self,
        clock_s: float,
        t: float,
        roots: Collection[int],
        spared: Collection[int] = (),
        is_urgent: bool = False,
    ) -> Sample:
        sample = replace(self._samples[min(self.played, len(self._samples) - 1)], clock_s=clock_s, t=t)
        self.played += 1
        return sample

    def job(self, clock_s: float, roots: Collection[int], spared: Collection[int] = ()) -> tuple[Process, ...]:
        """Of the sample last played, as a second look at the same instant."""
        return self._samples[min(max(self.played - 1, 0), len(self._samples) - 1)].job

    def missing(self) -> list[tuple[str, str]]:
        return list(self._missing)

    def close(self) -> None:
        """Nothing is open."""
