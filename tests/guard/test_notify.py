"""The desktop notification: over the session bus, without a program of its own."""

import shutil
import subprocess
from pathlib import Path

import pytest

from memwatch.guard.notify import notify, session_bus_path
from memwatch.guard.scope.dbus_message import MessageType, encode, split
from tests.guard.processes import wait_until

needs_bus = pytest.mark.skipif(
    shutil.which("dbus-daemon") is None or shutil.which("dbus-monitor") is None, reason="needs a D-Bus daemon"
)


@needs_bus
def test_a_real_bus_understands_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"unix:path={tmp_path}/bus"
    seen = tmp_path / "seen"
    bus = subprocess.Popen(["dbus-daemon", "--session", "--nofork", f"--address={address}"], stderr=subprocess.DEVNULL)
    try:
        wait_until((tmp_path / "bus").exists)
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        monkeypatch.setenv("DISPLAY", ":0")
        with seen.open("w") as file, subprocess.Popen(["dbus-monitor", "--session"], stdout=file) as monitor:
            wait_until(lambda: "NameLost" in seen.read_text(), "the monitor listens")
            connection = notify("title", "words, äöü")
            assert connection is not None
            wait_until(lambda: "member=Notify" in seen.read_text())
            monitor.kill()
        assert 'string "words, äöü"' in seen.read_text()
        connection.close()
    finally:
        bus.kill()
        bus.wait()


def test_without_a_desktop_or_a_bus_nothing_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/none")
    assert notify("title", "words") is None
    monkeypatch.setenv("DISPLAY", ":0")
    assert notify("title", "words") is None


@pytest.mark.parametrize(
    ("environment", "path"),
    [
        ({}, None),
        ({"DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/7/bus,guid=1"}, "/run/user/7/bus"),
        ({"DBUS_SESSION_BUS_ADDRESS": "tcp:host=x;unix:abstract=/tmp/dbus-x"}, "\0/tmp/dbus-x"),
        ({"XDG_RUNTIME_DIR": "/nowhere"}, None),
    ],
)
def test_the_bus_is_found_where_it_says(environment: dict[str, str], path: str | None) -> None:
    assert session_bus_path(environment) == path


def test_a_dictionary_is_encoded_as_an_array_of_pairs() -> None:
    assert split("asa{sv}i") == ["as", "a{sv}", "i"]
    message = encode(MessageType.CALL, 1, {}, "a{sv}i", [[("urgency", ("y", 2))], -1])
    body = message[-(8 + 16 + 4) :]
    assert body.endswith(b"\xff\xff\xff\xff")
    assert b"urgency\0" in body
