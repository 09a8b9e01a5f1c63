"""A machine without the vocabulary file takes it from the output folder of the run."""

from pathlib import Path

import pytest

from memwatch.cluster.run_folder import RunFolder, SharedPlan
from memwatch.cluster.shared_vocabulary import local_vocabulary, share_vocabulary
from memwatch.errors import MemwatchError
from memwatch.tokenize.settings import TokenizeSettings
from memwatch.tokenize.vocabulary_file import with_vocabulary
from tests.tokenize.test_vocabulary_files import added, small_vocabulary


def test_the_file_is_found_in_the_output_folder_and_checked(tmp_path: Path) -> None:
    # GIVEN a run that was started with a vocabulary file
    here = small_vocabulary(tmp_path / "own.json", added_tokens=[added("</s>", 300, True)])
    settings = with_vocabulary(TokenizeSettings(encoding=str(here)), None, None)
    folder = RunFolder(str(tmp_path / "out"))
    folder.agree_on(SharedPlan(settings.as_json(), [], []))
    share_vocabulary(folder, settings)
    # WHEN another machine has no such file
    there = local_vocabulary(folder.out, "/models/own.json")
    # THEN it uses that of the run, which is the same vocabulary
    assert Path(there).read_bytes() == here.read_bytes()
    joined = with_vocabulary(TokenizeSettings(encoding=there), None, None)
    assert joined.changes_since(settings.as_json()) == []
    # A file of another name is none of the run's, and one that is here is taken as it is.
    assert local_vocabulary(folder.out, "/models/other.json") == "/models/other.json"
    assert local_vocabulary(folder.out, str(here)) == str(here)
    Path(there).unlink()
    Path(folder.partial, "vocabulary", "own.json").write_text("{}")
    with pytest.raises(MemwatchError, match="is damaged"):
        local_vocabulary(folder.out, "/models/own.json")
