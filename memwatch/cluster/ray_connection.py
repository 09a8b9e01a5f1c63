"""Connects to a Ray cluster, and never starts one. Every failure is one sentence."""

import os
import re
from typing import Any

from memwatch.errors import MemwatchError, UsageError

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
