"""Cuts text into documents, for the contenders that take documents and not a text."""

import re
from collections.abc import Iterator

# As long as those of FineWeb are on average. A cut in front of a blank line changes no token of GPT-2's, so whoever
# tokenizes documents one by one can still be exact.
DOCUMENT = re.compile(r".{3000,}?\S(?=\n\n)", re.S)
READ_CHARACTERS = 1_000_000


def documents(path: str) -> Iterator[str]:
    rest = ""
    with open(path, encoding="utf-8", errors="ignore", newline="") as f:
        while chunk := f.read(READ_CHARACTERS):
            rest += chunk
            end = 0
            for match in DOCUMENT.finditer(rest):
                yield match[0]
                end = match.end()
            rest = rest[end:]
    if rest:
        yield rest
