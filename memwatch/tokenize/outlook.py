"""From what was found out to the outlook: the pure parts, put together."""

from memwatch.core.cells import Range
from memwatch.core.estimate import Conclusion, Verdict, conclude, known_text, output_size
from memwatch.core.outlook import InputOutlook, Outlook
from memwatch.core.units import MIB, format_size
from memwatch.core.ways import fate, job_seconds, seconds_a_byte
from memwatch.tokenize.estimating import Estimated, estimate
from memwatch.tokenize.formats import HEADER_BYTES
from memwatch.tokenize.inputs import Input
from memwatch.tokenize.pieces import Found
from memwatch.tokenize.settings import DEFAULT_MODE, DEFAULT_SHARD_TOKENS, Request

MOST_NAMES = 3


def outlook(request: Request, command: list[str]) -> Outlook:
    """`command` is what the user would give to do the job, each word quoted."""
    return concluded(estimate(request), request, command)


def concluded(found: Estimated, request: Request, command: list[str]) -> Outlook:
    tokens, room, script, costs = found.tokens, found.room, found.script, found.costs
    outputs: dict[str, Range] = {
        kind: _output(kind, header_bytes, tokens, found.encoding.token_bytes)
        for kind, header_bytes in HEADER_BYTES.items()
    }
    conclusion = conclude(outputs[request.settings.format], found.disk, found.budget, room)
    stream = conclusion.max_memory_bytes or found.budget.usual_bytes
    memory = stream + tokens.estimate * found.encoding.token_bytes
    list_fate = fate(script, tokens.estimate, room)
    return Outlook(
        inputs=tuple(_of(source, each) for source, each in zip(found.inputs, found.found, strict=True)),
        tokens=tokens,
        text_bytes=found.text_bytes,
        encoding=found.encoding.name,
        dtype=found.encoding.dtype,
        engine=found.engine,
        format=request.settings.format,
        output_bytes=outputs,
        stream_bytes=stream,
        memory_bytes=memory,
        stream_fit=room.fit(stream),
        memory_fit=room.fit(memory),
        room=room,
        disk=found.disk,
        seconds=job_seconds(found.text_bytes, costs, found.plan.workers, found.cores, found.others),
        bytes_a_second=1 / seconds_a_byte(costs.encode_s.estimate, costs.handle_s, found.plan.workers, found.cores),
        workers=found.plan.workers,
        list_fate=list_fate,
        list_bytes_per_token=script.bytes_per_token,
        list_seconds=script.seconds(tokens.estimate),
        list_tokens_a_second=script.tokens_a_second.estimate,
        conclusion=conclusion,
        advice=_advice(conclusion, command),
        hint=known_text(found.text_bytes.estimate),
        notes=tuple(_notes(found)),
        took_s=found.took_s,
    )


def _output(kind: str, header_bytes: int, tokens: Range, token_bytes: int) -> Range:
    shard_tokens = DEFAULT_SHARD_TOKENS[kind] if DEFAULT_MODE[kind] == "shard" else None
    return output_size(tokens, token_bytes, header_bytes, shard_tokens)


def _of(source: Input, found: Found) -> InputOutlook:
    return InputOutlook(
        name=source.name,
        kind=source.kind,
        packing=source.packing,
        size_bytes=source.size_bytes or 0,
        text_bytes=found.text_bytes,
        tokens=found.tokens,
        pieces=found.pieces,
        read_bytes=found.read_bytes,
        seen_share=found.seen_share,
        token_count=found.token_count,
    )


def _advice(conclusion: Conclusion, command: list[str]) -> str:
    if conclusion.verdict in (Verdict.DISK, Verdict.MEMORY):
        return conclusion.reason
    if conclusion.max_memory_bytes is not None:
        # click lets the last one count, should the user have asked for more.
        command = [*command, "--max-memory", f"{conclusion.max_memory_bytes // MIB}M"]
    return " ".join(command)


def _notes(found: Estimated) -> list[str]:
    notes = [] if found.note is None else [found.note]
    notes += [
        f"{name} changed while it was looked at: it may be growing, and there will be more" for name in found.grown
    ]
    partly = [(source, each) for source, each in zip(found.inputs, found.found, strict=True) if each.seen_share < 1]
    for source, each in partly[:MOST_NAMES]:
        if not each.seen_share:
            notes.append(f"there was no time to look into {source.name}; it is taken to be like the others")
        else:
            share = f"{100 * each.seen_share:.0f} %" if each.seen_share >= 0.01 else "less than 1 %"
            notes.append(
                f"only the first {share} of {source.name} could be read in time; the rest is taken to be like it"
            )
    if len(partly) > MOST_NAMES:
        notes.append(f"the same holds for {len(partly) - MOST_NAMES} more files")
    if found.disk.partial_bytes:
        held = format_size(found.disk.partial_bytes)
        notes.append(f"{held} of a partial run are in {found.disk.folder}; the same command would continue it")
    return notes
