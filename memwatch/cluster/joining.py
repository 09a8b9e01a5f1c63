"""How a process joins a run.

nothing there        make the plan
a plan               join it, if it is the same job
a finished run       nothing to do if it is the same job; else refuse; --force replaces it
"""

import os
from dataclasses import dataclass, replace
from typing import Any

from memwatch.cluster.planning import agreed_plan
from memwatch.cluster.run_folder import MANIFEST, RunFolder, SharedPlan
from memwatch.cluster.shared_vocabulary import share_vocabulary
from memwatch.errors import MemwatchError, UsageError
from memwatch.storage.address import parent
from memwatch.tokenize.inputs.input_source import Input
from memwatch.tokenize.run_inputs import run_inputs
from memwatch.tokenize.settings import TokenizeRequest


@dataclass(frozen=True, slots=True)
class RunResult:
    """`wrote_manifest` is False if another process has finished the run."""

    out: str
    wrote_manifest: bool
    manifest: dict[str, Any]


@dataclass(frozen=True, slots=True)
class JoinedRun:
    folder: RunFolder
    plan: SharedPlan
    inputs: list[Input]


def join_run(
    request: TokenizeRequest, out: str | None, segment_bytes: int | None, may_delete: bool
) -> JoinedRun | RunResult:
    """`may_delete`: no other process works on this run, so --fresh and --force are safe."""
    if not may_delete and (request.fresh or request.force):
        raise UsageError(
            "--fresh and --force delete what other ranks make; run the command once with --rank 0 --world-size 1"
        )
    inputs, settings = run_inputs(request, by_segment=True)
    request = replace(request, settings=settings)
    if not any(source.size_bytes for source in inputs):
        raise MemwatchError(f"{', '.join(source.name for source in inputs)} is empty: nothing to tokenize")
    folder = RunFolder(out or parent(inputs[0].path) or ".")
    if request.fresh:
        _drop(folder)
    finished = _finished(folder, request, inputs)
    if finished is not None:
        return finished
    plan = agreed_plan(folder, request.settings, inputs, segment_bytes)
    share_vocabulary(folder, request.settings)
    return JoinedRun(folder, plan, inputs)


def _finished(folder: RunFolder, request: TokenizeRequest, inputs: list[Input]) -> RunResult | None:
    """A late process finds the run complete. Another run's output is refused, or removed with --force."""
    if not folder.is_finished:
        return None
    manifest = folder.load_manifest()
    if request.force:
        folder.store.remove(folder.file(MANIFEST))
        for record in manifest["files"]:
            folder.store.remove(folder.file(os.path.basename(record["name"])))
        return None
    prints = [source.get("fingerprint") for source in manifest.get("inputs", [])]
    is_same = not request.settings.changes_since(manifest.get("settings", {}))
    if is_same and prints == [source.fingerprint for source in inputs]:
        return RunResult(folder.out, False, manifest)
    raise MemwatchError(f"{folder.out} has finished output of another run; --force replaces it")


def _drop(folder: RunFolder) -> None:
    """A partial run with the shards that have their final names already."""
    for number in folder.done():
        mark = folder.mark(number)
        for file in (mark.train, mark.train_index):
            if file is not None:
                folder.store.remove(folder.file(file.name))
    folder.drop_partial()
