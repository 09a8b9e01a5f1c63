"""The command line, for `memwatch` and for the tokenizer's own options: kinds of values, and one way to run a command.

An error becomes one sentence and an exit code.
"""

import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from memwatch.errors import ExitCode, MemwatchError, exit_with_sentence, printable
from memwatch.model.units import parse_count, parse_size
from memwatch.storage.address import is_remote, parse

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

LEAST_SHARD_TOKENS = 10_000
# A file name has 255 bytes, some of them for _train_000001.bin.
LONGEST_NAME_BYTES = 200


class Parsed(click.ParamType):  # type: ignore[type-arg]  # Generic only in newer clicks.
    """A value with a parser of its own, whose ValueError is the message."""

    def __init__(self, name: str, parse: Callable[[str], Any], words: tuple[str, ...] = ()) -> None:
        """`words` are values that the shell completes."""
        self.name = name
        self._parse = parse
        self._words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem[str]]":
        from click.shell_completion import CompletionItem

        return [CompletionItem(word) for word in self._words if word.startswith(incomplete)]


def _positive(parse: Callable[[str], int]) -> Callable[[str], int]:
    def parsed(text: str) -> int:
        value = parse(text)
        if value < 1:
            raise ValueError(f"{text} is too small")
        return value

    return parsed


def _share(text: str) -> str:
    from fractions import Fraction  # Not for a command that is only to be wrapped, and quickly.

    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{text!r} is not a ratio; write it as 0.0005 or 1/2000") from None
    if not 0 <= value < 1:
        raise ValueError(f"{text} is out of range; a ratio is at least 0 and less than 1")
    return str(value)  # 0.0005 and 5e-4 are the same.


def _workers(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{text!r} is not a number of workers; write auto, or 1 or more")
    return int(text)


def _documents(text: str) -> str:
    if not text:
        raise ValueError("the separator of documents cannot be empty")
    if not text.isascii() and text != text.encode("utf-8", "replace").decode():
        raise ValueError("the separator of documents must be UTF-8")
    return text


def _output_name(text: str) -> str:
    if "train" in text.lower() or "val" in text.lower():
        raise ValueError("loaders choose files by 'train' and 'val' in the name; leave these words out")
    if not text or "/" in text or text.startswith(".") or len(text.encode()) > LONGEST_NAME_BYTES:
        raise ValueError(f"write a file name of 1 to {LONGEST_NAME_BYTES} bytes without a slash or a leading dot")
    return text


class AskedReserve(NamedTuple):
    """--reserve: a size, or a share of the room that the job runs in. Which room that is, the guard knows."""

    size_bytes: int | None = None
    fraction: float | None = None


def _reserve(text: str) -> AskedReserve:
    if not text.endswith("%"):
        return AskedReserve(size_bytes=parse_size(text))
    try:
        share = float(text.removesuffix("%")) / 100
    except ValueError:
        raise ValueError(f"{text!r} is not a percentage; write it as 10%") from None
    if not 0 <= share < 1:
        raise ValueError(f"{text} is out of range; write at least 0% and less than 100%")
    return AskedReserve(fraction=share)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number of seconds") from None
    if not 0.05 <= value <= 1e6:
        raise ValueError(f"{text} s is out of range; write 0.05 to 1000000")
    return value


def _shard_tokens(text: str) -> int:
    """Smaller shards would mean too many files, and more work for the files than for the text."""
    tokens = parse_count(text)
    if tokens < LEAST_SHARD_TOKENS:
        raise ValueError(f"{text} is too small; a shard has at least {LEAST_SHARD_TOKENS} tokens")
    return tokens


def _address(text: str) -> str:
    """A path, or the address of an object. One with a credential in it goes no further: it would be journaled."""
    if is_remote(text):
        try:
            parse(text)
        except MemwatchError as error:
            raise ValueError(str(error)) from None
    return text


ADDRESS = Parsed("address", _address)
RESERVE = Parsed("size|percent", _reserve)
SECONDS = Parsed("seconds", _seconds)
SIZE = Parsed("size", _positive(parse_size))
SHARD_TOKENS = Parsed("count", _shard_tokens)
SHARE = Parsed("ratio", _share)
WORKERS = Parsed("auto|number", _workers, ("auto",))
OUTPUT_NAME = Parsed("NAME", _output_name)
DOCUMENTS = Parsed("auto|none|line|blank|TEXT", _documents, ("auto", "none", "line", "blank"))


def complete_files(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    """Leaves completion to the shell, which knows ~ and folders. For names that click does not know to be files."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def invoke(command: click.Command, name: str, arguments: list[str]) -> int:
    def run() -> int:
        try:
            return command.main(arguments, prog_name=name, standalone_mode=False) or ExitCode.OK
        except click.exceptions.Exit as end:
            return end.exit_code
        except click.ClickException as error:
            _show(error)
            return ExitCode.USAGE
        except click.Abort:
            return 128 + signal.SIGINT

    return exit_with_sentence(run)


def _show(error: click.ClickException) -> None:
    """Show a usage error as click does, but without repeating unprintable characters."""
    if type(error).__name__ == "NoArgsIsHelpError":  # By name: click 8.1, which Debian 13 has, does not know it.
        click.echo(error.format_message(), err=True)
        return
    words = printable(error.format_message())
    if isinstance(error, click.UsageError):
        click.UsageError(words, error.ctx).show()
    else:
        click.ClickException(words).show()
