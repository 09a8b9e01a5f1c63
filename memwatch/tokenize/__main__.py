"""The job's process."""

import signal
import sys

if __name__ == "__main__":
    # Until its handlers are there (interrupts.py), what is sent to us waits: neither lost nor leaving a traceback.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1))
    from memwatch.tokenize.command import main

    sys.exit(main())
