"""The memory that a Python list of tokens takes: the one place where `estimate` and `diagnose --script` read it.

A token is a pointer in the list and an int object. CPython keeps one object each for the numbers up to 256, which all
lists share, so the cost depends on how many of a text's tokens are that small.
"""

from dataclasses import dataclass

from memwatch.model.units import MIB

LARGEST_SHARED_INT = 256
# An int of 28 bytes, which Python's allocator rounds up to 32, in pools of 16 KiB with a head of 64 bytes.
INT_BYTES = 32 * 16384 / (16384 - 64)
# A full list grows by a spare eighth, which is not touched and takes no memory: 3220 MiB were measured for 105.6 M
# tokens, these figures give 3199 MiB.
POINTER_BYTES = 8
# The share of tokens up to 256: source code in gpt2 has most of them, six languages in cl100k_base least (measured).
MOST_SHARED, LEAST_SHARED = 0.62, 0.15
# A process that has imported tiktoken and numpy, loaded gpt2 and encoded a chunk (measured).
PROCESS_BYTES = 70 * MIB


def bytes_per_token(shared_fraction: float) -> float:
    """Memory for a token in the list alone. `shared_fraction` of the tokens are at most `LARGEST_SHARED_INT`."""
    return POINTER_BYTES + INT_BYTES * (1 - shared_fraction)


LEAST_BYTES_PER_TOKEN, MOST_BYTES_PER_TOKEN = bytes_per_token(MOST_SHARED), bytes_per_token(LEAST_SHARED)


def peak_bytes(tokens: float, list_bytes_per_token: float, token_bytes: int = 2) -> float:
    """Peak memory of a script that collects all tokens in a list and makes an array of it at the end."""
    return PROCESS_BYTES + tokens * (list_bytes_per_token + token_bytes)


@dataclass(frozen=True, slots=True)
class ListScript:
    """The script that collects every token in a list and makes an array of it at the end."""

    bytes_per_token: float
    token_bytes: int
    tokens_per_s: float

    def peak_bytes(self, tokens: float) -> float:
        return peak_bytes(tokens, self.bytes_per_token, self.token_bytes)

    def full_at(self, tokens: float, room_bytes: float) -> float | None:
        """The token at which this much memory is full; None if the script ends before. The array is made after the last
        token."""
        if self.peak_bytes(tokens) <= room_bytes:
            return None
        return min(max((room_bytes - PROCESS_BYTES) / self.bytes_per_token, 0.0), tokens)
