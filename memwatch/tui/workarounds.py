"""Where Textual does not do what memwatch needs, and what is done about it. Checked with textual 8.2."""

from typing import TypeVar

from textual.app import App

Result = TypeVar("Result")


class QuietApp(App[Result]):
    """An app that says nothing when it fails: whoever runs it says it in one sentence, and goes on without it.

    Textual prints a traceback with the values of all local variables, through rich, as it exits.
    """

    @property
    def failure(self) -> Exception | None:
        return self._exception

    def _fatal_error(self) -> None:
        self._close_messages_no_wait()
