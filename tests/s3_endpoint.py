"""A real HTTP S3 endpoint on this machine, and a proxy in front of it that makes it fail.

with endpoint() as s3, FaultyProxy(s3.url) as proxy:
    s3.make_bucket("results")
    os.environ |= s3.environment(proxy.url)
    proxy.fail_next("503", 3)       # the next three requests
    proxy.fail_at_rate(0.1, seed=0) # a tenth of all, of every kind
    proxy.fail_always("reset")
"""

import http.client
import logging
import os
import random
import socket
import struct
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

FAULTS = ("500", "503", "reset", "lost", "delay", "cut")
"""`reset`: the request is not carried out; `lost`: it is, and its answer is not sent; `cut`: the answer ends in its middle."""


class Endpoint:
    """moto's S3, all in memory."""

    def __init__(self, url: str) -> None:
        self.url = url

    def environment(self, url: str = "") -> dict[str, str]:
        """What a process needs in its environment, to reach the endpoint at `url` where a proxy is before it."""
        return {
            "AWS_ENDPOINT_URL": url or self.url, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }  # fmt: skip

    def make_bucket(self, name: str) -> None:
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/{name}", method="PUT")).close()

    def put_many(self, bucket: str, keys: Sequence[str], value: bytes = b"x") -> None:
        """Objects as they lie on the server, without a request for each."""
        from moto.core import DEFAULT_ACCOUNT_ID
        from moto.s3.models import s3_backends

        for key in keys:
            s3_backends[DEFAULT_ACCOUNT_ID]["aws"].put_object(bucket, key, value)

    def age(self, bucket: str, key: str, seconds: float) -> None:
        """Let the object be that much older."""
        from moto.core import DEFAULT_ACCOUNT_ID
        from moto.s3.models import s3_backends

        found = s3_backends[DEFAULT_ACCOUNT_ID]["aws"].buckets[bucket].keys[key]
        found.last_modified = datetime.now(UTC).replace(tzinfo=None) - timedelta(seconds=seconds)

    def keys(self, bucket: str) -> list[str]:
        from moto.core import DEFAULT_ACCOUNT_ID
        from moto.s3.models import s3_backends

        return sorted(s3_backends[DEFAULT_ACCOUNT_ID]["aws"].buckets[bucket].keys.keys())

    def mirror(self, bucket: str, prefix: str, folder: Path) -> None:
        """Make the folder hold what lies below the prefix, without a request."""
        from moto.core import DEFAULT_ACCOUNT_ID
        from moto.s3.models import s3_backends

        objects = s3_backends[DEFAULT_ACCOUNT_ID]["aws"].buckets[bucket].keys
        keys = {key.removeprefix(f"{prefix}/"): key for key in self.keys(bucket) if key.startswith(f"{prefix}/")}
        for path in [path for path in folder.rglob("*") if path.is_file() and str(path.relative_to(folder)) not in keys]:
            path.unlink()
        for name, key in keys.items():
            while value := objects.get(key):
                path, version = folder / name, value.last_modified.timestamp()
                if not path.exists() or path.stat().st_mtime != version:
                    try:
                        data = value.value
                    except ValueError:  # it has just been replaced or deleted
                        continue
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(data)
                    os.utime(path, (version, version))
                break


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line a request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield Endpoint(f"http://{host}:{port}")
    finally:
        server.stop()


class FaultyProxy:
    """Passes requests on to `upstream`, but for those that are to fail; `log` has (method, path, fault or "") of each."""

    def __init__(self, upstream: str, delay_s: float = 1.0) -> None:
        self.upstream, self.delay_s = urlsplit(upstream), delay_s
        self.log: list[tuple[str, str, str]] = []
        self._lock = threading.Lock()
        self.heal()
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "FaultyProxy":
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    def heal(self) -> None:
        """No faults any more."""
        self._next: list[str] = []
        self._always, self._rate, self._kinds = "", 0.0, FAULTS

    def fail_next(self, fault: str, n: int = 1) -> None:
        with self._lock:
            self._next += [fault] * n

    def fail_always(self, fault: str) -> None:
        self._always = fault

    def fail_at_rate(self, rate: float, seed: int, kinds: Sequence[str] = FAULTS) -> None:
        self._random, self._kinds, self._rate = random.Random(seed), tuple(kinds), rate

    def fault(self, method: str, path: str) -> str:
        """What this request suffers."""
        with self._lock:
            fault = self._next.pop(0) if self._next else self._always
            if not fault and self._rate and self._random.random() < self._rate:
                fault = self._random.choice(self._kinds)
            self.log.append((method, path, fault))
            return fault


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: FaultyProxy

    def _carry(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.owner.fault(self.command, self.path)
        if fault == "reset":
            return self._reset()
        if fault in ("500", "503"):
            words = b"<Error><Code>SlowDown</Code></Error>" if fault == "503" else b"<Error><Code>InternalError</Code></Error>"
            return self._answer(int(fault), {"Content-Length": str(len(words))}, words)
        if fault == "delay":
            time.sleep(self.owner.delay_s)
        upstream = http.client.HTTPConnection(str(self.owner.upstream.hostname), self.owner.upstream.port, timeout=60)
        try:
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in ("connection",):
                    upstream.putheader(name, value)
            upstream.endheaders(body)
            answer = upstream.getresponse()
            data = answer.read()
        finally:
            upstream.close()
        if fault == "lost":
            return self._reset()
        kept = {k: v for k, v in answer.getheaders() if k.lower() not in ("connection", "transfer-encoding", "server")}
        if self.command != "HEAD":
            kept["Content-Length"] = str(len(data))
        if fault == "cut":
            self._answer(answer.status, kept, data[: len(data) // 2])
            return self._reset()
        return self._answer(answer.status, kept, data)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _carry

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def handle(self) -> None:
        try:
            super().handle()
        except (ConnectionError, ValueError):  # the other side went away, or we reset it
            return

    def finish(self) -> None:
        try:
            super().finish()
        except (ConnectionError, ValueError):
            return

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the log is `FaultyProxy.log`."""
