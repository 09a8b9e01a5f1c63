"""Which commands need the terminal for themselves."""

import pytest

from memwatch.cli.ui import needs_terminal


@pytest.mark.parametrize(
    "command",
    [
        "python", "/usr/bin/python3.12", "python -q", "python -i train.py", "python -m pdb train.py", "node", "bash",
        "sh -i", "less /etc/services", "/usr/bin/vim notes.txt", "htop", "ipython", "gdb --args ./train",
    ],
)  # fmt: skip
def test_what_a_person_types_into_needs_it(command: str) -> None:
    assert needs_terminal(command.split())


@pytest.mark.parametrize(
    "command",
    [
        "python train.py", "python3 -u train.py -i", "python -c pass", "python -m pytest", "python -", "python -V",
        "bash run.sh", "sh -c true", "sh -ec true", "node -e 1", "less --version", "make", "sort big.txt",
        "java -jar x.jar", "python -Ic pass", "torchrun train.py",
    ],
)  # fmt: skip
def test_what_runs_by_itself_does_not(command: str) -> None:
    assert not needs_terminal(command.split())


def test_no_command_needs_nothing() -> None:
    assert not needs_terminal([])
