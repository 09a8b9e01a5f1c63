"""The vocabulary file of a run in its output folder, for machines that do not have the file.

OUT/.memwatch-partial/vocabulary/NAME     put there by whoever makes the plan or joins it with the file
"""

import hashlib
import os
from typing import Any

from memwatch.cluster.run_folder import RunFolder, SharedPlan
from memwatch.errors import MemwatchError
from memwatch.storage.address import join
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.vocabulary import ENCODINGS, cache_folder, store
from memwatch.tokenize.vocabulary_file import encoding_of, file_content


def share_vocabulary(folder: RunFolder, settings: TokenizeSettings) -> None:
    """Called by every process that joins a run; the first one puts the file there."""
    if settings.vocabulary is None:
        return
    address = _address(folder, settings.vocabulary["name"])
    try:
        folder.store.info(address)
    except FileNotFoundError:
        folder.store.put(address, file_content(encoding_of(settings)))


def vocabulary_here(folder: RunFolder, plan: SharedPlan) -> str | None:
    """The path of a run's vocabulary file on this machine, for a task that knows the folder alone."""
    vocabulary = plan.settings.get("vocabulary")
    return None if vocabulary is None else _copied(folder, vocabulary)


def local_vocabulary(out: str | None, encoding: str) -> str:
    """`--encoding` as it is, or the path of a copy of the run's own file if this machine has none of that name."""
    if out is None or encoding in ENCODINGS or os.path.exists(encoding):
        return encoding
    folder = RunFolder(out)
    plan = folder.load_plan()
    vocabulary: dict[str, Any] | None = None if plan is None else plan.settings.get("vocabulary")
    if vocabulary is None or vocabulary["name"] != os.path.basename(encoding):
        return encoding
    return _copied(folder, vocabulary)


def _copied(folder: RunFolder, vocabulary: dict[str, Any]) -> str:
    """From the folder into the cache of this machine."""
    path = cache_folder() / vocabulary["sha256"][:16] / os.path.basename(vocabulary["name"])
    if path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == vocabulary["sha256"]:
        return str(path)
    address = _address(folder, vocabulary["name"])
    try:
        data = folder.store.read(address)
    except FileNotFoundError as error:
        raise MemwatchError(f"the vocabulary of this run, {address}, is missing; start it where the file is") from error
    if hashlib.sha256(data).hexdigest() != vocabulary["sha256"]:
        raise MemwatchError(f"{address} is damaged: its SHA-256 is not that of the plan; remove it")
    return str(store(data, path))


def _address(folder: RunFolder, name: str) -> str:
    return join(folder.partial, "vocabulary", os.path.basename(name))
