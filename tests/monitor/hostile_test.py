"""A running monitor that hostile clients talk to: its memory stays bounded, and others are served.

    hostile_test.py --goodput PROGRAM --failing-sync LIBRARY [--seed N] [TEST...]
"""

import contextlib
import gzip
import http.client
import os
import re
import resource
import socket
import sys
import threading
import time
from pathlib import Path

import push_case
from push_case import STEPS, TOKEN  # of the hostile ones too: without it nothing of them would be read

CROWD = 1000  # four times the connections that there may be
SERVED_WITHIN_S = 1.0
# Beyond what it had: 256 connections with 16 KiB of head and 64 KiB of response each, 128 MiB of bodies in flight.
MEMORY_MIB = 192


def setUpModule():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard == resource.RLIM_INFINITY else max(hard, 2 * CROWD), hard))


class Neighbour:
    """Reads the page of all jobs over and over, each time on a connection of its own; how long that took."""

    def __init__(self, address):
        self.address, self.took_s, self.failed = address, [], []
        self.is_on = True
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        while self.is_on:
            begin = time.monotonic()
            try:
                connection = http.client.HTTPConnection(*self.address, timeout=30)
                connection.request("GET", "/", headers={"Authorization": f"Bearer {TOKEN}"})
                answer = connection.getresponse()
                if answer.status != 200 or b"</html>" not in answer.read():
                    self.failed.append(f"status {answer.status}")
                connection.close()
            except (OSError, http.client.HTTPException) as problem:
                self.failed.append(repr(problem))
            self.took_s.append(time.monotonic() - begin)
            time.sleep(0.02)

    def end(self):
        self.is_on = False
        self.thread.join()


class Hostile(push_case.PushCase):
    def setUp(self):
        super().setUp()
        self.running = self.monitor(self.logs)
        self.assertTrue(self.running.wait_for_steps(STEPS - 1), self.running.notes)
        self.opened = []
        self.neighbour = Neighbour(self.address)
        time.sleep(0.5)
        self.proc = Path("/proc") / str(self.running.process.pid)
        self.memory_before, self.sockets_before = self.memory_mib(), self.sockets()

    def memory_mib(self):
        """The most so far."""
        return int(re.search(r"VmHWM:\s+(\d+)", (self.proc / "status").read_text())[1]) / 1024

    def sockets(self):
        """Other files may be those that are followed, of which there is a limit."""
        found = 0
        for file in (self.proc / "fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                found += os.readlink(file).startswith("socket:")
        return found

    def connect(self):
        connection = socket.create_connection(self.address, timeout=10)
        self.opened.append(connection)
        return connection

    def send(self, connection, data):
        """As much of it as the other side takes: it may close, or read nothing."""
        with contextlib.suppress(OSError):
            connection.sendall(data)

    def head(self, method, path, *lines):
        return "\r\n".join((f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {TOKEN}", *lines, "", "")).encode()

    def assert_bounded(self):
        """Called while the hostile connections are open."""
        time.sleep(1)
        self.neighbour.end()
        self.assertIsNone(self.running.process.poll(), self.running.notes)
        self.assertEqual(self.neighbour.failed, [])
        self.assertLess(max(self.neighbour.took_s), SERVED_WITHIN_S)
        grown = self.memory_mib() - self.memory_before
        print(f"memory grew by {grown:.1f} MiB, a page took {1000 * max(self.neighbour.took_s):.0f} ms at most", flush=True)
        self.assertLess(grown, MEMORY_MIB)
        for connection in self.opened:
            connection.close()
        deadline = time.monotonic() + 30
        while self.sockets() > self.sockets_before + 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertLessEqual(self.sockets(), self.sockets_before + 2)
        self.running.end()

    def test_heads_of_a_million_lines(self):
        lines = b"".join(b"X-%d: y\r\n" % number for number in range(1_000_000))
        for _ in range(10):
            connection = self.connect()
            self.send(connection, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + lines)
        self.assert_bounded()

    def test_a_thousand_connections_of_every_kind(self):
        kinds = (b"",                                                              # says nothing
                 b"GET / HT",                                                      # stops within the head
                 self.head("GET", "/") * 20,                                       # asks, and reads nothing
                 self.head("GET", "/events?topic=all", "Accept: text/event-stream"),         # the same of a stream
                 self.head("POST", "/v1/jobs/x/ops", "Content-Length: 50000000"),  # announces, and sends nothing
                 self.head("GET", "/" + "%3Cscript%3E" * 100),
                 self.chance.randbytes(2000))
        for number in range(CROWD):
            with contextlib.suppress(OSError):
                self.send(self.connect(), kinds[number % len(kinds)])
        self.assert_bounded()

    def test_bodies_that_are_garbage_or_huge(self):
        bomb = gzip.compress(b"\n" * (1 << 28))
        for number in range(40):
            body = (bomb, self.chance.randbytes(1 << 20), b"\x1f\x8b" + self.chance.randbytes(5000), b"1," * (1 << 20))[number % 4]
            encoding = ("Content-Encoding: gzip",) if number % 2 == 0 else ()
            self.send(self.connect(), self.head("POST", f"/v1/jobs/job{number % 3}/ops", f"Content-Length: {len(body)}", *encoding) + body)
        for _ in range(20):  # chunks of a size that nobody has
            connection = self.connect()
            self.send(connection, self.head("POST", "/v1/jobs/x/ops", "Transfer-Encoding: chunked") + b"FFFFFFFFFFFFFFF\r\n")
            self.send(connection, self.chance.randbytes(100_000))
        self.assert_bounded()


if __name__ == "__main__":
    sys.exit(push_case.run(__doc__))
