"""A desktop notification, where there is a desktop: tried once, never waited for."""

import os
import shutil


def notify(title: str, text: str) -> int | None:
    """Start notify-send and return its pid, or None if there is nothing to notify with."""
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return None
    program = shutil.which("notify-send")
    if program is None:
        return None
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        actions = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)]
        arguments = [program, "--app-name=memwatch", "--urgency=critical", "--", title, text]
        return os.posix_spawn(program, arguments, os.environ, file_actions=actions)
    except OSError:
        return None
    finally:
        os.close(null)
