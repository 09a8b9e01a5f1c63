"""HTML, made by hand and by one rule: text goes through `text`, and whatever comes out of here is safe already."""

import re
from collections.abc import Iterable
from datetime import datetime, tzinfo
from html import escape

from memwatch.errors import printable

_CODE = re.compile("`([^`]+)`")


class Html(str):
    """Text that may go into a page as it is."""

    __slots__ = ()


def text(value: object) -> Html:
    """Anything from outside: printable, and without a meaning in HTML."""
    return Html(escape(printable(value), quote=True))


def with_code(value: object) -> Html:
    """Text in which `words like these` are a command or a name."""
    return Html(_CODE.sub(r"<code>\1</code>", text(value)))


def element(tag: str, *inside: Html | str, **attributes: object) -> Html:
    """`inside` that is not Html is text. An attribute ends in `_` where its name is a word of Python."""
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{text(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return Html(f"<{tag}{written}>{joined(inside)}</{tag}>")


def joined(parts: Iterable[Html | str]) -> Html:
    return Html("".join(part if isinstance(part, Html) else text(part) for part in parts))


def clock_time(t: float, zone: tzinfo | None, with_date: bool = False) -> str:
    try:
        moment = datetime.fromtimestamp(t, zone)
    except (OverflowError, ValueError, OSError):
        return "n/a"  # Nobody's clock shows that.
    return f"{moment:%Y-%m-%d %H:%M:%S}" if with_date else f"{moment:%H:%M:%S}"
