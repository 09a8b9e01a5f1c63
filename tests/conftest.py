"""Fixtures for all tests: an isolated cache, the reference encoder, real text, and memwatch as a user runs it."""

import pydoc_data.topics
import signal
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from memwatch.tokenize.vocabulary import Encoding, encoding_named, rank_file, reference
from tests.helpers import Finished, memwatch

pytest_plugins = ("tests.leftovers",)

# The background of a shell, nohup and some CI systems start what they run with these ignored. Every command of a test
# would inherit that, and ignore Ctrl-C.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

# How long an example takes says how busy the machine is, and nothing about memwatch.
settings.register_profile("any load", deadline=None)
settings.load_profile("any load")


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """No test reads or fills the cache of whoever runs it, or waits for a run that is none of its own."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_CACHE_HOME", str(folder))
        environment.setenv("MEMWATCH_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        yield folder


Reference = Callable[[str], list[int]]


@pytest.fixture(scope="session")
def gpt2() -> Encoding:
    return encoding_named("gpt2")


@pytest.fixture(scope="session")
def gpt2_reference(gpt2: Encoding) -> Reference:
    """tiktoken over a whole text. Its regex cannot take long white space, so ask it for numpy, which says so."""
    encoder = reference(gpt2, rank_file(gpt2))
    return lambda text: encoder.encode_to_numpy(text, disallowed_special=()).tolist()


@pytest.fixture(scope="session")
def real_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """5 MB of prose and code: Python's own documentation and library."""
    path = tmp_path_factory.mktemp("text") / "real.txt"
    sources = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    with path.open("wb") as file:
        for topic in sorted(pydoc_data.topics.topics):
            file.write(pydoc_data.topics.topics[topic].encode() + b"\n\n")
        for source in sources:
            file.write(source.read_bytes() + b"\n\n")
            if file.tell() > 5_000_000:
                break
    return path


@pytest.fixture(scope="session")
def real_tokens(real_text: Path, gpt2_reference: Reference) -> "np.ndarray":
    return np.array(gpt2_reference(real_text.read_bytes().decode()), dtype="<u2")


@pytest.fixture(scope="session")
def long_text(real_text: Path) -> Path:
    """Enough to be still at work on when a test does something to it."""
    path = real_text.with_name("long.txt")
    path.write_bytes(real_text.read_bytes() * 4)
    return path


@pytest.fixture(scope="session")
def long_tokens(long_text: Path, gpt2_reference: Reference) -> "np.ndarray":
    return np.array(gpt2_reference(long_text.read_bytes().decode()), dtype="<u2")


@pytest.fixture
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Local time is UTC, wherever the test is run."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def tokenize(tmp_path: Path) -> Callable[..., Finished]:
    """`memwatch run tokenize ARGUMENTS`, as a user would run it."""

    def run(*arguments: object, **options: object) -> Finished:
        return memwatch("run", "tokenize", *arguments, **options)

    return run


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--store-screens", action="store_true", help="Store the screens as they look now.")
    parser.addoption("--kills", type=int, default=24, help="How many random kills the resume campaign makes.")
    parser.addoption("--vm", action="store_true", help="Also run what takes a virtual machine (make test-vm).")
    parser.addoption("--cluster-kills", type=int, default=5, help="How many random kills under runs on Ray.")
    parser.addoption("--campaign", action="store_true", help="All healthy jobs in all cages, and 200 random kills.")
    parser.addoption("--all", action="store_true", help="Also run the files that take long (make test-all).")


# What takes long on two quiet cores: real hogs, real kills, long texts, recorded hours. Files, folders or single tests.
# `make test` leaves them out unless they are named on the command line; `make test-all` and CI run everything.
LONG = (
    "tests/benchmarks/",
    "tests/benign/test_benign.py",
    "tests/cluster/test_buckets.py",
    "tests/cluster/test_rank_runs.py",
    "tests/cluster/test_ray_campaign.py",
    "tests/cluster/test_ray_errors.py",
    "tests/cluster/test_ray_pressure.py",
    "tests/decide/test_benign_hour.py",
    "tests/decide/test_healthy_jobs.py",
    "tests/decide/test_whole_runs.py",
    "tests/estimate/test_sampling.py",
    "tests/faults/",
    "tests/guard/test_bare.py",
    "tests/guard/test_blame.py",
    "tests/guard/test_job_control.py",
    "tests/guard/test_kill_campaign.py",
    "tests/guard/test_never_stopped.py::test_a_job_that_ignores_being_told_is_killed",
    "tests/guard/test_never_stopped.py::test_a_stop_is_followed_by_the_kill_also_with_the_guard_off",
    "tests/guard/test_pausing.py::test_a_signal_that_the_job_sends_to_its_own_does_not_end_a_pause",
    "tests/guard/test_pressure.py::test_a_slow_hog_is_warned_about_well_before_it_is_paused",
    "tests/guard/test_pressure.py::test_after_a_stop_by_the_guard_a_stubborn_child_does_not_go_on_to_fill_memory",
    "tests/guard/test_pressure.py::test_the_desktop_is_notified_once",
    "tests/guard/test_pressure.py::test_what_still_grows_in_a_pause_is_killed",
    "tests/guard/test_reserve_follows.py",
    "tests/guard/test_runs_together.py",
    "tests/guard/test_tokenizer.py",
    "tests/portable/test_guard.py",
    "tests/probe/test_hard_to_read.py",
    "tests/probe/test_own_memory.py",
    "tests/security/test_files.py",
    "tests/security/test_names.py",
    "tests/test_readme.py::test_the_commands_of_the_readme_do_what_it_says",
    "tests/test_recipes.py",
    "tests/tokenize/inputs/test_damage.py",
    "tests/tokenize/inputs/test_standard_input.py",
    "tests/tokenize/test_engines.py",
    "tests/tokenize/test_val_rules.py::test_segments_and_ranks_make_the_same_files",
    "tests/tokenize/test_file_cuts.py",
    "tests/tokenize/test_vocabulary_files.py",
    "tests/tokenize/test_vocabulary_runs.py",
    "tests/tui/test_screenshots.py",
    "tests/tui/test_terminal.py",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    named = config.invocation_params.args
    if config.getoption("--all") or any(str(argument).startswith("tests") for argument in named):
        return
    long = [item for item in items if item.nodeid.startswith(LONG)]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in set(long)]
