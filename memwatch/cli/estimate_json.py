"""What `memwatch estimate --json` prints. Keys are added, never renamed."""

from typing import Any

from memwatch.core.cells import Range
from memwatch.core.outlook import InputOutlook, Outlook


def as_object(found: Outlook) -> dict[str, Any]:
    output, fate, room = found.output_bytes[found.format], found.list_fate, found.room
    return {
        "schema": 1,
        "inputs": [_input_object(each) for each in found.inputs],
        "bytes": found.size_bytes,
        "text_bytes": _whole(found.text_bytes),
        "tokens": _whole(found.tokens),
        "exact": found.is_exact,
        "bytes_per_token": found.bytes_per_token,
        "encoding": found.encoding,
        "dtype": found.dtype,
        "format": found.format,
        "output_bytes": round(output.estimate),
        "output_bytes_by_format": {kind: _whole(size) for kind, size in found.output_bytes.items()},
        "ram": {
            "stream": found.stream_bytes,
            "shard": found.stream_bytes,
            "memory": round(found.memory_bytes),
            "list": round(fate.peak_bytes),
        },
        "ram_fits": {
            "stream": found.stream_fit.value,
            "shard": found.stream_fit.value,
            "memory": found.memory_fit.value,
            "list": fate.fit.value,
        },
        "memory": {
            "total": room.total_bytes,
            "available": room.available_bytes,
            "swap_total": room.swap_total_bytes,
            "limit": room.limit_bytes,
        },
        "folder": found.disk.folder,
        "disk_free_bytes": found.disk.free_bytes,
        "partial_bytes": found.disk.partial_bytes,
        "seconds": _rounded(found.seconds),
        "bytes_per_second": round(found.bytes_a_second),
        "engine": found.engine,
        "workers": found.workers,
        "list_script": {
            "bytes_per_token": round(found.list_bytes_per_token, 2),
            "swaps_at_tokens": _whole_or_none(fate.swaps_at_tokens),
            "dies_at_tokens": _whole_or_none(fate.dies_at_tokens),
            "seconds": round(found.list_seconds.estimate, 1),
            "seconds_low": round(found.list_seconds.low, 1),
            "seconds_high": round(found.list_seconds.high, 1),
            "tokens_per_second": round(found.list_tokens_a_second),
        },
        "hint": found.hint,
        "notes": list(found.notes),
        "verdict": found.conclusion.verdict.value,
        "advice": found.advice,
        "sampled_seconds": round(found.took_s, 2),
    }


def _input_object(each: InputOutlook) -> dict[str, Any]:
    return {
        "path": each.name,
        "kind": each.kind,
        "packing": each.packing,
        "bytes": each.size_bytes,
        "text_bytes": _whole(each.text_bytes),
        "tokens": _whole(each.tokens),
        "exact": each.is_exact,
        "pieces": each.pieces,
        "read_bytes": each.read_bytes,
        "seen_share": round(each.seen_share, 4),
        "token_count": each.token_count,
    }


def _whole(count: Range) -> dict[str, int]:
    whole = count.whole()
    return {"estimate": int(whole.estimate), "low": int(whole.low), "high": int(whole.high)}


def _rounded(seconds: Range) -> dict[str, float]:
    return {"estimate": round(seconds.estimate, 1), "low": round(seconds.low, 1), "high": round(seconds.high, 1)}


def _whole_or_none(value: float | None) -> int | None:
    return None if value is None else round(value)
