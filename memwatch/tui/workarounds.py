"""Where Textual does not do what memwatch needs, and what is done about it. Checked with textual 8.2."""

import os
import signal
from typing import TypeVar

from textual.app import App

Result = TypeVar("Result")


class SteadyApp(App[Result]):
    """An app that leaves the terminal as it found it.

    - When it fails it prints nothing: its caller prints one sentence, and continues without it. Textual prints a
      traceback with the values of all local variables.
    - When it was stopped (Ctrl-Z) and goes on, it draws everything: Textual draws what changes from then on.
    - Ctrl-Z stops everyone in the foreground, as a terminal does it: a script that runs us would wait for ever.
    """

    def on_load(self) -> None:
        self.app_resume_signal.subscribe(self, lambda _: self.refresh())

    def action_suspend_process(self) -> None:
        if self._driver is not None and self._driver.can_suspend:
            self._suspend_signal()
            os.killpg(0, signal.SIGTSTP)

    @property
    def failure(self) -> Exception | None:
        return self._exception

    def _fatal_error(self) -> None:
        self._close_messages_no_wait()
