"""The process of a rank: `memwatch run tokenize --shard-by segment ...` runs `python -m memwatch.cluster ...`."""

import signal
import sys

from memwatch.tokenize.__main__ import open_standard_streams

if __name__ == "__main__":
    open_standard_streams()
    # Until its handlers are there (interrupts.py), what is sent to us waits.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1))
    from memwatch.cluster.rank_command import main

    sys.exit(main())
