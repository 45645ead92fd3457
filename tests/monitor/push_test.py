"""Rows that jobs push to a running monitor: taken in once, kept over a SIGKILL, and garbage that harms nobody.

    push_test.py --goodput PROGRAM --failing-sync LIBRARY [--seed N] [TEST...]
"""

import gzip
import http.client
import json
import subprocess
import sys
import time
from pathlib import Path

import push_case
from monitor_process import PATIENCE_S, difference, exported, once
from push_case import STEPS, TOKEN


def halves_of(text):
    lines = text.splitlines(keepends=True)
    return b"".join(lines[:len(lines) // 2]), b"".join(lines[len(lines) // 2:])


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

    def test_a_repeated_push_is_taken_in_once_over_a_kill_at_any_time(self):
        pushes = [half for halves in zip(*map(halves_of, self.texts())) for half in halves]
        for number, text in enumerate(pushes):
            running = self.monitor()
            self.assertEqual(self.push(text, **{"Idempotency-Key": f"push {number}"})[0], 202)
            running.kill()
            running = self.monitor()
            self.assert_all_known(pushes[:number + 1])
            running.kill()
        self.take_the_rest()
        running = self.monitor()
        deadline = time.monotonic() + PATIENCE_S
        while len(self.spooled()) > len(pushes) / 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(len(self.spooled()), len(pushes) / 2)  # the first halves are used up, and their keys kept
        for _ in range(2):
            self.assert_all_known(pushes)
            running.kill()
            running = self.monitor()
        running.end()
        self.take_the_rest()
        self.assert_as_from_files()

    def assert_all_known(self, pushes):
        for number, text in enumerate(pushes):
            status, answer = self.push(text, **{"Idempotency-Key": f"push {number}"})
            self.assertEqual((status, json.loads(answer)), (200, {"accepted_bytes": 0, "repeated": "already accepted"}))

    def spooled(self):
        return sorted(path.name for path in Path(f"{self.database}.spool").glob("*/*"))

    def test_a_push_that_cannot_be_kept_is_not_acknowledged_and_may_be_sent_again(self):
        for number, text in enumerate(self.texts()):
            key = {"Idempotency-Key": f"push {number}"}
            before = self.spooled()
            for pattern in ("*.spool/job/*", "*.spool/job"):  # the new file, and its folder once it has its name
                running = self.monitor(failing_sync=f"fail:{pattern}")
                status, answer = self.push(text, **key)
                self.assertEqual(status, 503, f"{pattern}: {answer}")
                self.assertIn("Input/output error", answer)
                running.kill()
                self.assertLessEqual(set(self.spooled()), set(before))
            running = self.monitor()
            self.assertEqual(self.push(text, **key)[0], 202)
            running.kill()
        self.take_the_rest()
        self.assert_as_from_files()

    def test_a_push_counts_once_if_the_monitor_is_killed_before_it_answers(self):
        for number, text in enumerate(self.texts()):
            key = {"Idempotency-Key": f"push {number}"}
            # Before the file has its name nothing of the push is kept, afterwards all of it is.
            pattern, again = ("*.spool/job/*", 202) if number % 2 == 0 else ("*.spool/job", 200)
            killed = self.monitor(failing_sync=f"kill:{pattern}")
            with self.assertRaises((OSError, http.client.HTTPException)):
                self.push(text, **key)
            killed.finish()
            running = self.monitor()
            self.assertEqual(self.push(text, **key)[0], again)
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
