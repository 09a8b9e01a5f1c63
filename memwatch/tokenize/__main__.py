"""The tokenizer's process, `python -m memwatch.tokenize`: the job behind `memwatch run tokenize`."""

import os
import signal
import sys


def open_standard_streams() -> None:
    """A stream that is closed would be the next file that is opened here: the text, a shard, the guard's channel."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(fd)


if __name__ == "__main__":
    open_standard_streams()
    # Until its handlers are there (interrupts.py), what is sent to us waits: neither lost nor leaving a traceback.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1))
    from memwatch.tokenize.command import main

    sys.exit(main())
