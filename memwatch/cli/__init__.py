"""The command line: one file a command."""

import sys


def main() -> int:
    from memwatch.cli.commands import memwatch
    from memwatch.cli.invoke import invoke

    return invoke(memwatch, "memwatch", sys.argv[1:])
