"""A monitor behind the proxy of docs/monitor.md: what nginx sends with that configuration is served, other names are not.

    proxy_test.py --goodput PROGRAM --failing-sync LIBRARY [TEST...]

It needs no nginx: the requests are made from the directives of the documentation, by the rules of ngx_http_proxy_module.
"""

import re
import shlex
import socket
import sys
from pathlib import Path

import push_case
from push_case import TOKEN

DOCUMENT = Path(__file__).parents[2] / "docs" / "monitor.md"
# What nginx sends to a server behind it if no directive says otherwise.
NGINX_DEFAULTS = {"Host": "$proxy_host", "Connection": "close"}
# What a browser sends to nginx, which passes it on.
BROWSER = {"User-Agent": "Mozilla/5.0", "Accept": "text/html", "Accept-Encoding": "gzip, br", "Sec-Fetch-Site": "same-origin",
           "Referer": "https://goodput.example.org/", "Cookie": "theme=dark", "Authorization": "Basic YW5uOnNlY3JldA=="}


def directives():
    """Those of the nginx configuration of the documentation: (name, arguments)."""
    block = next(block for block in re.findall(r"```text\n(.*?)```", DOCUMENT.read_text(), re.DOTALL) if "proxy_pass" in block)
    lines = (shlex.split(line.strip().rstrip("{").split(";")[0]) for line in block.splitlines())
    return [(line[0], line[1:]) for line in lines if line and line[0] != "}"]


def monitor_options():
    """Those that the documentation gives the monitor behind nginx."""
    found = re.search(r'GOODPUT_MONITOR_OPTIONS="([^"]*--behind-proxy[^"]*)"', DOCUMENT.read_text())
    return shlex.split(found[1])


class Proxy(push_case.PushCase):
    def setUp(self):
        super().setUp()
        self.directives = directives()
        self.host = next(arguments[0] for name, arguments in self.directives if name == "server_name")
        options = monitor_options()
        self.assertEqual(options[options.index("--url") + 1], f"https://{self.host}")
        token = options.index("--token-file")
        del options[token:token + 2]  # the test has one of its own
        self.running = self.monitor(*options)

    def request(self, method, path, body=b"", **headers):
        """As nginx sends it, once the documentation's TOKEN is the one of the test."""
        host, port = self.address
        variables = {"$host": self.host, "$proxy_host": f"{host}:{port}", "TOKEN": TOKEN}
        sent = {**NGINX_DEFAULTS, **BROWSER, **headers, **({"Content-Length": str(len(body))} if method == "POST" else {})}
        sent.update({arguments[0]: arguments[1] for name, arguments in self.directives if name == "proxy_set_header"})
        for name, value in sent.items():
            for variable, meaning in variables.items():
                value = value.replace(variable, meaning)
            self.assertNotIn("$", value, f"{name}: a variable that this test does not know")
            sent[name] = value
        version = next(arguments[0] for name, arguments in self.directives if name == "proxy_http_version")
        head = [f"{method} {path} HTTP/{version}", *(f"{name}: {value}" for name, value in sent.items() if value)]
        return "\r\n".join((*head, "", "")).encode() + body

    def answer_to(self, request, until=b""):
        """All of it, or what comes until there is `until` in it."""
        with socket.create_connection(self.address, timeout=30) as connection:
            connection.sendall(request)
            received = b""
            while not until or until not in received:
                some = connection.recv(65536)
                if not some:
                    break
                received += some
        return received.decode()

    def test_the_request_is_the_one_that_nginx_makes(self):
        request = self.request("GET", "/").decode()
        for line in (f"Host: {self.host}", f"Authorization: Bearer {TOKEN}", "Connection: close"):
            self.assertIn(f"\r\n{line}\r\n", request)
        self.assertTrue(request.startswith("GET / HTTP/1.1\r\n"))
        self.assertNotIn("Basic", request)

    def test_a_page_an_event_stream_and_a_push(self):
        page = self.answer_to(self.request("GET", "/"))
        self.assertTrue(page.startswith("HTTP/1.1 200 "), page)
        self.assertIn("</html>", page)
        stream = self.answer_to(self.request("GET", "/events?topic=all", Accept="text/event-stream"), until=b"\r\n\r\n")
        self.assertTrue(stream.startswith("HTTP/1.1 200 "), stream)
        self.assertIn("text/event-stream", stream)
        text = next(path.read_bytes() for path in sorted(self.logs.rglob("*.log")))
        for origin in ({}, {"Origin": f"https://{self.host}"}):
            push = self.answer_to(self.request("POST", "/v1/jobs/job/ops", text, **origin))
            self.assertTrue(push.startswith("HTTP/1.1 202 "), push)

    def test_the_host_with_a_port_or_in_capital_letters(self):
        for host in (f"{self.host}:443", self.host.upper(), "127.0.0.1:8646", "localhost"):
            request = self.request("GET", "/").decode().replace(f"Host: {self.host}", f"Host: {host}")
            self.assertTrue(self.answer_to(request.encode()).startswith("HTTP/1.1 200 "), host)

    def test_another_name_is_refused_with_what_to_do(self):
        request = self.request("GET", "/").decode().replace(f"Host: {self.host}", "Host: rebound.example")
        answer = self.answer_to(request.encode())
        self.assertTrue(answer.startswith("HTTP/1.1 421 "), answer)
        self.assertIn("start the monitor with --url https://rebound.example", answer)

    def test_the_page_of_another_site_can_push_nothing(self):
        answer = self.answer_to(self.request("POST", "/v1/jobs/job/ops", b"x", Origin="https://evil.example"))
        self.assertTrue(answer.startswith("HTTP/1.1 403 "), answer)


if __name__ == "__main__":
    sys.exit(push_case.run(__doc__))
