"""memwatch runs memory-hungry jobs without freezing the machine."""

import os

__version__ = "0.1.0"

if os.environ.get("MEMWATCH_PROBE") == "portable":
    from memwatch import refuse_linux

    refuse_linux.install()
