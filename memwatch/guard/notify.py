"""A desktop notification, where there is a desktop: tried once, never waited for.

It goes to the session bus directly. A program such as notify-send may leave a daemon behind, which would become the
guard's child like any orphan of the job, and be taken for the job's: paused with it, and sent SIGTERM. So the guard
starts no program.
"""

import os
import time

from memwatch.guard.scope.dbus import Connection
from memwatch.guard.scope.dbus_message import DBusError, Target, Value

# To connect and to write, which a bus that works does at once.
LONGEST_S = 0.1

_BUS = Target("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
_DESKTOP = Target("org.freedesktop.Notifications", "/org/freedesktop/Notifications", "org.freedesktop.Notifications")
_CRITICAL = 2
_AS_THE_DESKTOP_LIKES = -1


class Notifier:
    """Shows one notification of a danger a run: the first is news, the rest is on the screen and in the journal."""

    def __init__(self) -> None:
        self._has_shown = False
        self._connections: list[Connection | None] = []

    def warn(self, text: str) -> None:
        """Show a warning of what is minutes away; `danger` follows when it comes."""
        self._connections.append(notify("memwatch: this run will not fit into memory", text))

    def danger(self, reason: str) -> None:
        if not self._has_shown:
            self._has_shown = True
            self._connections.append(notify("memwatch: memory is running out", reason))


def notify(title: str, text: str) -> Connection | None:
    """Returns the connection, to be kept: a bus drops what it has not yet delivered for a sender that is gone."""
    path = session_bus_path(os.environ)
    if path is None or not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return None
    try:
        bus = Connection(path, time.monotonic() + LONGEST_S)
    except DBusError:
        return None
    hints = [("urgency", ("y", _CRITICAL))]
    try:
        bus.send(_BUS, "Hello", "")
        said = ("memwatch", 0, "", title, text)
        rest: tuple[Value, ...] = ([], hints, _AS_THE_DESKTOP_LIKES)
        bus.send(_DESKTOP, "Notify", "susssasa{sv}i", *said, *rest, wants_reply=False)
    except DBusError:
        bus.close()
        return None
    return bus


def session_bus_path(environment: "os._Environ[str] | dict[str, str]") -> str | None:
    """The socket of the user's session bus, as sockets are named; None if there is no bus to be found."""
    for address in environment.get("DBUS_SESSION_BUS_ADDRESS", "").split(";"):
        transport, _, rest = address.partition(":")
        options = dict(part.partition("=")[::2] for part in rest.split(","))
        if transport == "unix" and "path" in options:
            return options["path"]
        if transport == "unix" and "abstract" in options:
            return "\0" + options["abstract"]
    folder = environment.get("XDG_RUNTIME_DIR")
    return f"{folder}/bus" if folder and os.path.exists(f"{folder}/bus") else None
