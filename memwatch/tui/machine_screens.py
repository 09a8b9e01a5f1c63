"""The screens without a guard: the machine itself, and a run that is over."""

from memwatch.journal.run_index import JournalIndex
from memwatch.probe.machine import Machine
from memwatch.tui.full_screen import look_for, make_app, run_app
from memwatch.tui.replay_app import ReplayApp
from memwatch.tui.screen_options import ScreenOptions
from memwatch.tui.sources.replay_source import ReplaySource
from memwatch.tui.sources.watch_source import WatchSource
from memwatch.tui.themes import theme_for


def show_machine(interval_s: float | None, options: ScreenOptions) -> None:
    machine = Machine(others_interval_s=0.9, in_background=True)
    try:
        run_app(make_app(WatchSource(machine, interval_s), options, None))
    finally:
        machine.close()


def show_replay(index: JournalIndex, name: str, is_machine: bool, options: ScreenOptions) -> None:
    """`name` is what `memwatch export` knows it by."""
    source = ReplaySource(index, is_machine)
    run_app(ReplayApp(source, look_for(options), theme_for(options.theme), name))
