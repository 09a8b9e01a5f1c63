"""The options about inputs, which `run tokenize` and `estimate` share. The choices come from the registries."""

from collections.abc import Callable
from typing import Any, get_args

import click

from memwatch.command_line import SHARE
from memwatch.tokenize.inputs.input_formats import FORMATS
from memwatch.tokenize.inputs.packings import PACKINGS
from memwatch.tokenize.settings import DEFAULT_BAD_LIMIT, BadRecords, Errors

_OPTIONS = (
    click.option("--input-format", type=click.Choice(tuple(FORMATS)),
                 help="Format of all inputs, packed or not [default: recognised by content and name]."),
    click.option("--text-column", metavar="NAME", default="text", show_default=True,
                 help="Field or column with the text; meta.text is the field text inside of meta."),
    click.option("--errors", type=click.Choice(get_args(Errors)), help="Handling of invalid UTF-8 [default: replace]."),
    click.option("--bad-records", type=click.Choice(get_args(BadRecords)), default="stop", show_default=True,
                 help="Stop at a record that cannot be read, or skip it and list it in the manifest."),
    click.option("--bad-limit", type=SHARE, default=DEFAULT_BAD_LIMIT, show_default=True,
                 help="Share of the records that may be skipped."),
    click.option("--exact", is_flag=True, help="Stop where text has no safe place to cut within 1 MiB."),
)  # fmt: skip


def input_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that gives a command these options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def readable_inputs() -> str:
    """All formats and packings that are read, in words for help texts."""
    return f"{', '.join(FORMATS)}, plain or compressed ({', '.join(PACKINGS)}), also in tar and zip archives"
