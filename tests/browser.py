"""A real browser without a window, told what to do over a pipe (the Chrome DevTools Protocol)."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import HANG_S

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)


class Browser:
    """Use as a context manager; skips the test where there is no chromium."""

    def __enter__(self) -> "Browser":
        name = next((name for name in NAMES if shutil.which(name)), None)
        if name is None:
            pytest.skip("there is no chromium here; on Debian: apt-get install chromium")
        self._profile = tempfile.TemporaryDirectory(prefix="memwatch-browser-", ignore_cleanup_errors=True)
        from_us, self._to_browser = os.pipe()
        self._from_browser, to_us = os.pipe()
        # It wants them as 3 and 4, which may be taken here: so by way of higher ones.
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 16) for fd in (from_us, to_us)]
        self._process = subprocess.Popen(
            [name, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=lambda: [os.dup2(end, number) for number, end in enumerate(ends, 3)],
        )
        for fd in (from_us, to_us, *ends):
            os.close(fd)
        self._watchdog = threading.Timer(HANG_S, self._process.kill)
        self._watchdog.start()
        self._received = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._session = None
        os.close(self._to_browser)  # Which tells it to end.
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._from_browser)
        self._watchdog.cancel()
        self._profile.cleanup()

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to_browser, json.dumps(message).encode() + b"\0")
        while (answer := self._receive()).get("id") != self._number:
            self.events.append(answer)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def open(self, path: Path) -> None:
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        while not self._has("Page.loadEventFired"):
            self.events.append(self._receive())

    def value(self, expression: str) -> Any:
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def size(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def colour_scheme(self, scheme: str) -> None:
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self) -> bytes:
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])

    def pdf(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    @property
    def complaints(self) -> list[dict[str, Any]]:
        """Errors and warnings of the page, and whatever it wrote to the console."""
        kinds = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")
        return [event for event in self.events if event.get("method") in kinds]

    @property
    def requests(self) -> list[str]:
        asked = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in asked]

    def _has(self, method: str) -> bool:
        return any(event.get("method") == method for event in self.events)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._received:
            data = os.read(self._from_browser, 1 << 20)
            assert data, "the browser has gone"
            self._received += data
        line, _, self._received = self._received.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message
