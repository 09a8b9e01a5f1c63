"""The second line: the guard's verdict. A plain line while memory suffices, else a banner with the keys that help.

    ▲ WARN  full in 6 s: the job's 2.0 GiB limit, growing 71 MiB/s          [s] shard  [p] pause  [x] stop
    ■ CONFINED to 18.0 GiB: 6.2 GiB in swap, 14 MiB/s, done in about 22 min          [f] release  [p] pause  [x] stop
    ‖ PAUSED 24 s, 0.8 GiB freed  stopped in 36 s unless 1.2 GiB more are free           [p] resume  [x] stop

It is always there, so that nothing jumps when the danger comes. On a small terminal words are cut; numbers and keys
are not.
"""

from rich.cells import cell_len

from memwatch.errors import printable
from memwatch.model.units import roughly
from memwatch.model.wording import ending
from memwatch.tui.draw import others
from memwatch.tui.draw.lines import Line, Span, cut_words, line, padded, spread, width_of
from memwatch.tui.draw.look import Look
from memwatch.tui.draw.words import size
from memwatch.tui.model.picture import JobState, Judged, Pause, Picture, ViewKind

ROOM_FOR_KEYS = 70  # columns; below that, the keys are in the last line alone
ROOM_FOR_LONG_KEYS = 100
_NEXT = {"stop": "stopped", "kill": "killed"}


def lines(picture: Picture, look: Look, width: int, height: int) -> list[Line]:
    if (found := alarm(picture, look)) is not None:
        words, level = found
        return [_banner(words, picture, look, f"on-{level}", width)]
    if picture.exit is not None:
        return [_quiet(look.glyphs.done if not picture.exit_code else look.glyphs.failed, ending(picture.exit), width)]
    judged = picture.judged
    if judged is None:
        return [line(Span("   no sample yet", "dim"))]
    is_calm = judged.level == "calm"
    symbol = look.glyphs.done if is_calm else look.glyphs.warning
    return [_quiet(f"{symbol} {judged.level}", reason_of(judged), width, "ok" if is_calm else "watch")]


def alarm(picture: Picture, look: Look) -> tuple[list[str], str] | None:
    """What the user must know now, the most important part first, and its level; None if there is nothing."""
    if picture.state == JobState.PAUSED and picture.pause is not None:
        return _paused(picture, picture.pause, look), "warn"
    judged = picture.judged
    if judged is not None and judged.is_grave and picture.exit is None:
        return _warning(picture, judged, look), judged.level
    if judged is not None and picture.is_confined:
        words = reason_of(judged).removeprefix("confined ")
        return [f"{look.glyphs.stopping} CONFINED {words}", "", ". Everything else runs normally."], "watch"
    if picture.need_warning is not None and picture.exit is None:
        return [f"{look.glyphs.warning} WARN  {printable(picture.need_warning)}"], "warn"
    return None


def _quiet(head: str, words: str, width: int, role: str = "dim") -> Line:
    left = line(" ", Span(head, role), "  ")
    return line(left, Span(cut_words(words, width - width_of(left)), "dim"))


def reason_of(judged: Judged) -> str:
    """Without the level, where the words begin with it: it stands before them."""
    return printable(judged.reason).removeprefix(f"{judged.level} ")


def _banner(words: list[str], picture: Picture, look: Look, role: str, width: int) -> Line:
    """Of `words`, the first two may be cut; each of the others is there as a whole, or not at all."""
    keys: Line = (Span(" ", on=role),)
    if width >= ROOM_FOR_KEYS:
        keys = helping_keys(picture, role, is_short=width < ROOM_FOR_LONG_KEYS)
    room = width - width_of(keys) - 2
    shown = cut_words(f" {''.join(words[:2])}", room, look.glyphs.ellipsis)
    for more in words[2:]:
        if cell_len(shown + more) <= room:
            shown += more
    return padded(spread(line(Span(shown, on=role)), keys, width, on=role), width, on=role)


def _warning(picture: Picture, judged: Judged, look: Look) -> list[str]:
    """The reason has its number first; where it has none at all, the guard's forecast is put before it."""
    reason = reason_of(judged)
    head = f"{look.glyphs.warning} {judged.level.upper()}  "
    left_s = picture.full_in_s
    if left_s is not None and not any(character.isdigit() for character in reason):
        return [f"{head}full in {roughly(left_s)}: {reason}"]
    return [head + reason]


def _paused(picture: Picture, pause: Pause, look: Look) -> list[str]:
    head = f"{look.glyphs.paused} PAUSED {roughly(max(picture.now_t - pause.since_t, 0))}"
    if pause.by == "user":
        head += " by you"
    if pause.by != "user" and picture.judged is not None and picture.judged.waits_for is not None:
        return [f"{look.glyphs.paused} PAUSED: {printable(picture.judged.waits_for)}"]
    needed = None if picture.judged is None else picture.judged.resume_needs_bytes
    freed = "memory is freed" if not needed or needed < 0 else f"{size(needed)} more are free"
    paged_out = None if picture.judged is None else picture.judged.paged_out_bytes
    if paged_out:
        head += f", {size(paged_out)} freed"
    parts = []
    if pause.deadline_t is not None:
        left = roughly(max(pause.deadline_t - picture.now_t, 0))
        next_step = _NEXT.get(pause.next_step or "")
        parts.append(f"  {next_step} in {left} unless {freed}" if next_step else f"  resumed in {left}")
    elif pause.by != "user":
        parts.append(f"  resumed when {freed}")
    # Below a limit, what programs outside of it take makes no difference.
    is_below_limit = picture.room is not None and picture.room.is_limit
    if pause.by != "user" and not is_below_limit and (biggest := others.biggest(picture)) is not None:
        parts.append(f"; {others.name(biggest)} uses {size(biggest.taken_bytes)}")
    return [head, *parts]


def helping_keys(picture: Picture, on: str, is_short: bool) -> Line:
    """What can be done about it, clickable."""
    if picture.kind != ViewKind.RUN:
        return (Span(" ", on=on),)
    keys = [("p", "resume" if picture.state == JobState.PAUSED else "pause", "app.pause"), ("x", "stop", "app.stop")]
    if picture.is_confined:
        keys.insert(0, ("f", "release", "app.confine"))
    elif picture.can_confine and picture.state != JobState.PAUSED:
        keys.insert(0, ("f", "confine", "app.confine"))
    if picture.can_shard and not picture.is_sharded:
        keys.insert(0, ("s", "shard", "app.shard"))
    return line(*(_key(*key, on, is_short) for key in keys))


def _key(key: str, word: str, action: str, on: str, is_short: bool) -> Line:
    """`[p] pause`, or `[p]ause` and `[x]stop` where every column counts."""
    rest = word.removeprefix(key) if is_short else f" {word}"
    space = " " if is_short else "  "
    return (Span(f"[{key}]", "strong", on=on, action=action), Span(rest + space, on=on, action=action))
