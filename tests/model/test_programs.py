"""Names of programs, without what else a command line holds."""

import pytest

from memwatch.guard.watchers import COMMAND_LINES
from memwatch.model.programs import as_given, is_memwatch_itself, program_name


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("/usr/bin/python3 -u /home/me/prepare.py --key SECRET", "python3 prepare.py"),
        ("python -m pytest tests", "python -m pytest"),
        ("python -c import os; os.environ['SECRET']", "python"),
        ("python3.12 SECRET", "python3.12"),
        ("/usr/lib/firefox/firefox -P SECRET", "firefox"),
        ("sshd: me@pts/0", "sshd"),
        ("bash -e run.sh", "bash"),
        ("python3", "python3"),
        ("python3 -m", "python3"),
        ("", "?"),
        ("x" * 500, "x" * 40),
    ],
)
def test_only_the_program_and_its_script(command: str, expected: str) -> None:
    assert program_name(command) == expected


def test_the_tokenizer_is_named_as_its_user_names_it() -> None:
    assert as_given(["/home/me/.venv/bin/python3", "-m", "memwatch.tokenize", "a.txt"]) == "tokenize a.txt"
    assert as_given(["python3", "-m", "memwatch.cluster", "a.txt", "--rank", "1"]) == "tokenize a.txt --rank 1"
    assert as_given(["python3", "-m", "memwatch.cluster.segment_worker", "7"]) == "worker"
    assert as_given(["python", "-m", "pytest"]) == "python -m pytest"
    assert as_given([]) == ""


@pytest.mark.parametrize(
    ("command", "is_ours"),
    [
        ("/usr/bin/python3 /home/me/.venv/bin/memwatch run -- python train.py", True),
        ("/usr/bin/python3 -m memwatch run -- python train.py", True),
        ("/usr/bin/python3.12 -m memwatch.guard 5", True),
        ("/usr/bin/python3 -P -m memwatch.guard 4", True),
        ("memwatch", True),
        *((command_line, True) for command_line in COMMAND_LINES),
        ("/usr/bin/python3 -m memwatch.tokenize a.txt", False),
        ("/usr/bin/python3 -m memwatch.cluster a.txt", False),
        ("/usr/bin/python3 -m memwatch.cluster.segment_worker 7", False),
        ("/usr/bin/python3 memwatch.py", False),
        ("/usr/bin/python3 train.py memwatch", False),
        ("vim memwatch", False),
        ("", False),
    ],
)
def test_memwatchs_own_processes_are_told_from_its_jobs(command: str, is_ours: bool) -> None:
    assert is_memwatch_itself(command) is is_ours
