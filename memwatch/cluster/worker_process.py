"""A worker process as the rank sees it. It is executed, not forked: obstore's threads do not survive a fork."""

import os
import subprocess
import sys
from multiprocessing.connection import Pipe

from memwatch.cluster.worker_messages import FromWorker, WorkerOrder
from memwatch.model.wording import how_it_ended


class WorkerProcess:
    def __init__(self, order: WorkerOrder) -> None:
        self.connection, theirs = Pipe()
        self.ready = False
        self.segment: int | None = None
        # One thread a worker: there is a worker for every core.
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
        with theirs:
            command = [sys.executable, "-m", "memwatch.cluster.segment_worker", str(theirs.fileno())]
            self._process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=environment
            )
        self.connection.send(order)

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self, number: int) -> None:
        self.segment = number
        self.connection.send(number)

    def receive(self) -> FromWorker | None:
        """The next message; None if the process has exited."""
        try:
            message: FromWorker = self.connection.recv()
        except (EOFError, ConnectionError):
            return None
        return message

    def how_it_ended(self) -> str:
        return how_it_ended(self._process.wait())

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self.connection.close()
