"""A real S3 server on loopback (moto's), and a proxy before it that fails at random.

Google's XML interface differs from S3's in a few headers; the proxy translates them, so it also plays gs:// buckets.
"""

import http.client
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.helpers import HANG_S

BUCKET = "bucket"
# The server looks at the form of a signature, and not at what it proves.
SIGNED = "AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def environment(port: int) -> dict[str, str]:
    """What a user would set to reach the server."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "AKIATESTKEY",
        "AWS_SECRET_ACCESS_KEY": "very-secret-value",
        "AWS_REGION": "us-east-1",
    }


def google_environment(port: int) -> dict[str, str]:
    """The same, for gs:// addresses: `port` is that of a proxy."""
    return {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}"}


@contextmanager
def running_server() -> Iterator[int]:
    """The port of a server with an empty bucket."""
    port = free_port()
    command = [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _make_bucket(port)
        yield port
    finally:
        server.kill()
        server.wait()


def _make_bucket(port: int) -> None:
    deadline = time.monotonic() + HANG_S
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANG_S)
            connection.request("PUT", f"/{BUCKET}", body=b"", headers={"Host": "s3.us-east-1.amazonaws.com"})
            assert connection.getresponse().status == 200
            return
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


@dataclass
class Faults:
    """Shares of the requests that are harmed. `after` requests pass unharmed first."""

    error_share: float = 0.0
    cut_share: float = 0.0
    slow_share: float = 0.0
    no_conditional_put: bool = False
    chance: random.Random = field(default_factory=lambda: random.Random(16))
    harmed: int = 0
    served_bytes: int = 0


@contextmanager
def running_proxy(server_port: int, faults: Faults) -> Iterator[int]:
    class Handler(_Harming):
        pass

    Handler.server_port = server_port
    Handler.faults = faults
    proxy = _QuietServer(("127.0.0.1", 0), Handler)
    proxy.daemon_threads = True
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield proxy.server_address[1]
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join()


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that drops a request half-way is no error here."""


class _Harming(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_port: int
    faults: Faults

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        faults, headers = self.faults, _as_s3(dict(self.headers))
        dice = faults.chance.random()
        if dice < faults.error_share:
            faults.harmed += 1
            self._answer(503, b"<Error><Code>SlowDown</Code></Error>")
            return
        if faults.no_conditional_put and "*" in (self.headers.get("If-None-Match"), headers.get("if-none-match")):
            faults.harmed += 1
            self._answer(501, b"<Error><Code>NotImplemented</Code></Error>")
            return
        upstream = http.client.HTTPConnection("127.0.0.1", self.server_port, timeout=HANG_S)
        try:
            upstream.request(self.command, self.path, body, headers)
            answer = upstream.getresponse()
            data = answer.read()
        finally:
            upstream.close()
        self._head(answer, data)
        if self.command == "HEAD":
            return
        if dice < faults.error_share + faults.cut_share:
            # The server did its part; the client never learns.
            faults.harmed += 1
            self._send(data[: len(data) // 2])
            self.close_connection = True
        elif dice < faults.error_share + faults.cut_share + faults.slow_share:
            faults.harmed += 1
            for start in range(0, len(data), max(len(data) // 5, 1)):
                self._send(data[start : start + max(len(data) // 5, 1)])
                time.sleep(0.02)
        else:
            self._send(data)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass_on

    def _head(self, answer: http.client.HTTPResponse, data: bytes) -> None:
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(data))
        if answer.status != 204:
            self.send_header("Content-Length", length or "0")
        self.end_headers()

    def _send(self, data: bytes) -> None:
        self.faults.served_bytes += len(data)
        self.wfile.write(data)

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response_only(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


def _as_s3(headers: dict[str, str]) -> dict[str, str]:
    """A request of Google's kind in S3's words: generation 0 is an object that does not exist."""
    lowered = {name.lower(): value for name, value in headers.items()}
    if lowered.get("authorization", "").startswith("AWS4"):
        return headers
    if lowered.pop("x-goog-if-generation-match", None) == "0":
        lowered["if-none-match"] = "*"
    return {**lowered, "authorization": SIGNED}
