"""Rows that jobs push to a running monitor: taken in once, kept over a SIGKILL, and garbage that harms nobody.

    push_test.py --goodput PROGRAM [--seed N] [TEST...]
"""

import gzip
import http.client
import subprocess
import sys

import push_case
from monitor_process import difference, exported, once
from push_case import STEPS, TOKEN


class Pushed(push_case.PushCase):
    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection(*self.address, timeout=30)
        connection.request(method, path, body, {"Authorization": f"Bearer {TOKEN}", **headers})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def push(self, body, name="job", **headers):
        return self.ask("POST", f"/v1/jobs/{name}/ops", body, **headers)

    def texts(self):
        """What each recorder wrote."""
        return [path.read_bytes() for path in sorted(self.logs.rglob("*.log"))]

    def take_the_rest(self):
        done = subprocess.run([push_case.options.goodput, "monitor", "--once", "--push", "--token-file", self.token, "--db", self.database],
                              check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def assert_as_from_files(self):
        """But for whatever depends on where rows came from."""
        expected = self.folder / "files.sqlite"
        once(push_case.options.goodput, self.logs, "--db", expected)
        self.assertEqual(difference(exported(push_case.options.goodput, self.database), exported(push_case.options.goodput, expected)), "")

    def test_rows_are_steps_and_a_repeated_push_is_taken_in_once(self):
        running = self.monitor()
        for number, text in enumerate(self.texts()):
            body, headers = (gzip.compress(text), {"Content-Encoding": "gzip"}) if number % 2 else (text, {})
            key = {"Idempotency-Key": f"push {number}"}
            self.assertEqual(self.push(body, **headers, **key)[0], 202)
            self.assertEqual(self.push(body, **headers, **key)[0], 200)
        self.assertTrue(running.wait_for_steps(STEPS - 1), running.notes)
        running.end()
        self.take_the_rest()
        self.assert_as_from_files()

    def test_what_was_acknowledged_survives_a_kill(self):
        for text in self.texts():
            running = self.monitor()
            self.assertEqual(self.push(text)[0], 202)
            running.wait_for_steps(1, patience_s=self.chance.uniform(0, 0.2))
            running.kill()
        self.take_the_rest()
        self.assert_as_from_files()

    def test_strangers_and_garbage_are_refused_and_others_served(self):
        running = self.monitor()
        self.assertEqual(self.push(b"x", Authorization="Bearer another-secret")[0], 401)
        self.assertEqual(self.ask("GET", "/", Authorization="")[0], 401)
        self.assertEqual(self.ask("GET", "/healthz", Authorization="")[0], 200)
        self.assertEqual(self.push(b"x", name=".hidden")[0], 400)
        self.assertIn(self.push(b"\x1f\x8bnot gzip", **{"Content-Encoding": "gzip"})[0], (400, 415))
        bomb = gzip.compress(b"\n" * (1 << 28))
        self.assertIn(self.push(bomb, **{"Content-Encoding": "gzip"})[0], (400, 413))
        for _ in range(50):
            body = self.chance.randbytes(self.chance.randrange(1, 5000))
            self.assertIn(self.push(body, name="garbage")[0], (202, 400, 413))
        for text in self.texts():
            self.assertEqual(self.push(text)[0], 202)
        self.assertTrue(running.wait_for_steps(STEPS - 1), running.notes)
        status, page = self.ask("GET", "/")
        self.assertEqual(status, 200)
        self.assertIn("job", page)
        running.end()


if __name__ == "__main__":
    sys.exit(push_case.run(__doc__))
