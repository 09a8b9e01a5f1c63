"""Connects to a Ray cluster, and never starts one. Every failure is one sentence."""

import os
import re
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from memwatch.errors import MemwatchError, UsageError, exit_with_sentence

# A head that is restarted within this time is found again (RAY_gcs_rpc_server_reconnect_timeout_s).
RAY_PATIENCE_S = 60.0
_PATIENCE_VARIABLE = "RAY_gcs_rpc_server_reconnect_timeout_s"
HEAD_PATIENCE_SHARE = 0.8
HEAD_LOOK_S = 3.0
_VERSIONS = re.compile(r"Ray: (\S+)\s+Python: (\S+)")


def connected(address: str) -> Any:
    """The ray module, connected to the cluster at `address`; "auto" is RAY_ADDRESS, or the one of this machine."""
    _check(address)
    if address == "auto":
        _check(os.environ.get("RAY_ADDRESS") or address)
    # Both are read when ray is imported. Its own log would break the lines of memwatch.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_LOG_TO_STDERR", "0")
    try:
        import ray
    except ImportError as error:
        raise MemwatchError("--on ray needs the package ray; install it with: pip install 'memwatch[ray]'") from error
    try:
        # Ray takes over SIGTERM here; the caller takes it back.
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    except Exception as error:  # Ray raises whatever its layers raise; a traceback would say less than this.
        raise MemwatchError(why_not_connected(address, str(error))) from error
    return ray


def _check(address: str) -> None:
    if "://" in address:
        raise UsageError("ray:// (Ray Client) is not supported: run the command on a node, or with `ray job submit`")
    if not address or address == "local":
        raise UsageError("memwatch starts no Ray cluster; give --ray-address HOST:PORT, or start one: ray start --head")


def why_not_connected(address: str, text: str) -> str:
    versions = _VERSIONS.findall(text)
    if len(versions) == 2:
        (ray_there, python_there), (ray_here, python_here) = versions
        return (
            f"the Ray cluster has Ray {ray_there} and Python {python_there}, this process Ray {ray_here} and "
            f"Python {python_here}; install the same versions"
        )
    where = "on this machine" if address == "auto" else f"at {address}"
    return f"no Ray cluster {where}; start one with: ray start --head, or name it with --ray-address HOST:PORT"


class HeadWatch(threading.Thread):
    """Ends the process with one sentence when the head of the cluster stays away. Ray would wait a minute, inside calls
    that do not return, and then end it with a page of its own log."""

    def __init__(self, address: str, note: Callable[[str], None]) -> None:
        """`address` is that of the head's control store (GCS)."""
        super().__init__(name="head-watch", daemon=True)
        self._address = address
        self._note = note
        self._is_over = threading.Event()

    def run(self) -> None:
        patience_s = HEAD_PATIENCE_SHARE * _ray_patience_s()
        answered_s, is_away = time.monotonic(), False
        while not self._is_over.wait(min(HEAD_LOOK_S, patience_s / 10)):
            if self._answers():
                answered_s, is_away = time.monotonic(), False
                continue
            if not is_away:
                is_away = True
                self._note(f"the Ray head at {self._address} does not answer; waiting {patience_s:.0f} s for it")
            if time.monotonic() - answered_s >= patience_s:
                os._exit(exit_with_sentence(self._fail))

    def end(self) -> None:
        self._is_over.set()

    def _answers(self) -> bool:
        host, _, port = self._address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=HEAD_LOOK_S).close()
        except OSError:
            return False
        return True

    def _fail(self) -> int:
        raise MemwatchError(
            f"the Ray head at {self._address} is gone; finished segments are kept: "
            "start the cluster again and repeat the same command"
        )


def _ray_patience_s() -> float:
    """How long Ray itself waits for its head."""
    try:
        return float(os.environ[_PATIENCE_VARIABLE])
    except (KeyError, ValueError):
        return RAY_PATIENCE_S
