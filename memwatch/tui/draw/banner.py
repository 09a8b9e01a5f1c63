"""The second line: the guard's verdict. Quiet while all is well; a banner with the keys that help when it is not.

It is always there, so that nothing jumps when the danger comes.
"""

from memwatch.errors import printable
from memwatch.tui.draw.lines import Line, Span, fitting, line, padded, spread
from memwatch.tui.draw.look import Look
from memwatch.tui.draw.words import roughly
from memwatch.tui.model.picture import Judged, Kind, Picture, State

_NEXT = {"stop": "told to end", "kill": "killed"}


def lines(picture: Picture, look: Look, width: int, height: int) -> list[Line]:
    if picture.state == State.PAUSED and picture.pause is not None:
        return [_banner(_paused(picture, look), picture, look, "on-warn", width)]
    judged = picture.judged
    if judged is None:
        return [line(Span("   looking at memory", "dim"))]
    if judged.is_grave and picture.state != State.ENDED:
        role = f"on-{judged.level}"
        words = f"{look.glyphs.warning} {judged.level.upper()}  {printable(judged.reason)}"
        return [_banner(words, picture, look, role, width)]
    return [_quiet(judged, look, width)]


def _quiet(judged: Judged, look: Look, width: int) -> Line:
    is_calm = judged.level == "calm"
    symbol = look.glyphs.done if is_calm else look.glyphs.warning
    role = "ok" if is_calm else "watch"
    left = line(" ", Span(f"{symbol} {judged.level}", role), "  ", Span(printable(judged.reason), "dim"))
    return spread(left, (), width)


def _banner(words: str, picture: Picture, look: Look, role: str, width: int) -> Line:
    keys = helping_keys(picture, role)
    return padded(spread(line(Span(f" {words}", on=role)), line(keys, Span(" ", on=role)), width), width, on=role)


def _paused(picture: Picture, look: Look) -> str:
    assert picture.pause is not None
    who = "you paused it" if picture.pause.by == "user" else "the guard paused it"
    words = f"{look.glyphs.paused} PAUSED  {who}"
    if picture.pause.deadline_t is not None:
        left_s = max(picture.pause.deadline_t - picture.now_t, 0)
        words += f"; {_NEXT.get(picture.pause.next_step or '', 'resumed')} in {roughly(left_s)} if memory stays short"
    if picture.judged is not None and picture.judged.is_grave:
        words += f"  {look.glyphs.warning} {printable(picture.judged.reason)}"
    return words


def helping_keys(picture: Picture, on: str) -> Line:
    """What can be done about it, clickable."""
    if picture.kind != Kind.RUN:
        return ()
    keys = []
    if picture.can_shard and not picture.is_sharded:
        keys.append(_key("s", "shard", "app.shard", on))
    is_paused = picture.state == State.PAUSED
    keys.append(_key("p", "resume" if is_paused else "pause", "app.pause", on))
    keys.append(_key("x", "stop", "app.stop", on))
    return fitting(keys, 60, " ")


def _key(key: str, word: str, action: str, on: str) -> Line:
    return (Span(f"[{key}]", "strong", on=on, action=action), Span(f" {word} ", on=on, action=action))
