"""The process that a task starts: `memwatch run` around a tokenizer, which ends when the task's process ends.

    python -m memwatch.cluster.guarded_run PARENT_PID run ... -- python -m memwatch.cluster.task_tokenizer ...

When Ray kills a worker, it kills that process only. This one then gets SIGKILL from the kernel, its guard ends the job,
and nothing is left on the node.
"""

import os
import signal
import sys

from memwatch.errors import ExitCode
from memwatch.guard.system import signal_me_when_my_parent_dies

if __name__ == "__main__":
    signal_me_when_my_parent_dies(signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):
        sys.exit(ExitCode.BROKEN)  # It has exited before it could be waited for.
    del sys.argv[1]
    from memwatch.cli import main

    sys.exit(main())
