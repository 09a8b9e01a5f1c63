"""The second line: the guard's verdict. Quiet while all is well; a banner with the keys that help when it is not.

It is always there, so that nothing jumps when the danger comes.
"""

from memwatch.errors import printable
from memwatch.tui.draw.lines import Line, Span, cut, line, padded, spread
from memwatch.tui.draw.look import Look
from memwatch.tui.draw.words import roughly
from memwatch.tui.model.picture import Judged, Kind, Picture, State

ROOM_FOR_BOTH = 150  # columns, for the pause and for what led to it
_NEXT = {"stop": "told to end", "kill": "killed"}


def lines(picture: Picture, look: Look, width: int, height: int) -> list[Line]:
    if picture.state == State.PAUSED and picture.pause is not None:
        return [_banner(_paused(picture, look, with_reason=width >= ROOM_FOR_BOTH), picture, look, "on-warn", width)]
    judged = picture.judged
    if judged is None:
        return [line(Span("   looking at memory", "dim"))]
    if judged.is_grave and picture.state != State.ENDED:
        role = f"on-{judged.level}"
        words = f"{look.glyphs.warning} {judged.level.upper()}  {_reason(judged)}"
        return [_banner(words, picture, look, role, width)]
    return [_quiet(judged, look, width)]


def _quiet(judged: Judged, look: Look, width: int) -> Line:
    is_calm = judged.level == "calm"
    symbol = look.glyphs.done if is_calm else look.glyphs.warning
    role = "ok" if is_calm else "watch"
    left = line(" ", Span(f"{symbol} {judged.level}", role), "  ", Span(_reason(judged), "dim"))
    return cut(left, width)


def _reason(judged: Judged) -> str:
    """Without the level, where the words begin with it: it stands before them."""
    return printable(judged.reason).removeprefix(f"{judged.level} ")


def _banner(words: str, picture: Picture, look: Look, role: str, width: int) -> Line:
    # On a small terminal the reason comes first; the keys are also in the last line.
    keys = helping_keys(picture, role, is_short=width < 100) if width >= 70 else (Span(" ", on=role),)
    return padded(spread(line(Span(f" {words}", on=role)), keys, width, on=role), width, on=role)


def _paused(picture: Picture, look: Look, with_reason: bool) -> str:
    assert picture.pause is not None
    if picture.pause.by != "user" and picture.judged is not None and picture.judged.waits_for is not None:
        return f"{look.glyphs.paused} PAUSED: {printable(picture.judged.waits_for)}"
    who = "you paused it" if picture.pause.by == "user" else "the guard paused it"
    words = f"{look.glyphs.paused} PAUSED  {who}"
    if picture.pause.deadline_t is not None:
        left_s = max(picture.pause.deadline_t - picture.now_t, 0)
        words += f"; {_NEXT.get(picture.pause.next_step or '', 'resumed')} in {roughly(left_s)} if memory stays short"
    if with_reason and picture.judged is not None and picture.judged.is_grave:
        words += f"  {look.glyphs.warning} {printable(picture.judged.reason)}"
    return words


def helping_keys(picture: Picture, on: str, is_short: bool) -> Line:
    """What can be done about it, clickable."""
    if picture.kind != Kind.RUN:
        return (Span(" ", on=on),)
    keys = [("p", "resume" if picture.state == State.PAUSED else "pause", "app.pause"), ("x", "stop", "app.stop")]
    if picture.can_shard and not picture.is_sharded:
        keys.insert(0, ("s", "shard", "app.shard"))
    return line(*(_key(*key, on, is_short) for key in keys))


def _key(key: str, word: str, action: str, on: str, is_short: bool) -> Line:
    """`[p] pause`, or `[p]ause` where every column counts."""
    rest = word.removeprefix(key) if is_short and word.startswith(key) else f" {word}"
    space = " " if is_short else "  "
    return (Span(f"[{key}]", "strong", on=on, action=action), Span(rest + space, on=on, action=action))
