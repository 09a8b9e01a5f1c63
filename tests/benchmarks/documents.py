"""Cuts text into documents, for the contenders that take documents and not a text."""

from collections.abc import Iterator

# As long as those of FineWeb are on average. A cut in front of a blank line changes no token of GPT-2's, so whoever
# tokenizes documents one by one can still be exact.
LEAST_CHARACTERS = 3000
BLANK_LINE = "\n\n"
READ_CHARACTERS = 1_000_000


def documents(path: str) -> Iterator[str]:
    """What was searched is not searched again: a dictionary has no blank line for a hundred megabytes."""
    rest, searched = "", LEAST_CHARACTERS
    with open(path, encoding="utf-8", errors="ignore", newline="") as f:
        while chunk := f.read(READ_CHARACTERS):
            rest += chunk
            start = 0
            while (end := rest.find(BLANK_LINE, searched)) >= 0:
                if not rest[end - 1].isspace():
                    yield rest[start:end]
                    start = end
                    searched = end + LEAST_CHARACTERS
                else:
                    searched = end + 1
            rest, searched = rest[start:], max(searched, len(rest) - 1) - start
    if rest:
        yield rest
