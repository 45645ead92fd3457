"""A monitor that refuses to start leaves nothing behind: no database, no lock, no spool.

    refused_test.py --goodput PROGRAM --failing-sync LIBRARY [TEST...]
"""

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import push_case
from push_case import TOKEN


class Refused(push_case.PushCase):
    def setUp(self):
        super().setUp()
        self.work = Path(tempfile.mkdtemp(dir=self.folder))
        self.database = self.work / "monitor.sqlite"

    def assert_refused(self, *arguments, because):
        before = sorted(os.listdir(self.work))
        done = subprocess.run([push_case.options.goodput, "monitor", *map(str, arguments), "--db", self.database], check=False,
                              capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(because, done.stderr)
        self.assertEqual(sorted(os.listdir(self.work)), before, arguments)

    def write(self, name, text, mode=0o600):
        file = self.folder / name
        file.write_text(text)
        file.chmod(mode)
        return file

    def test_a_token_that_is_refused(self):
        for name, token, because in (("missing", self.folder / "missing", "No such file or directory"),
                                     ("short", self.write("short", "too-short"), "at least 16 printable characters"),
                                     ("open", self.write("open", TOKEN, 0o644), "other users can read this token file")):
            with self.subTest(name):
                self.assert_refused(self.logs, "--push", "--token-file", token, "--port", 0, because=because)
        self.assert_refused(self.logs, "--push", "--port", 0, because="--token-file is required")

    def test_an_address_or_a_port_that_cannot_be_had(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.assert_refused(self.logs, "--push", "--token-file", self.token, "--port", taken.getsockname()[1],
                                because="Address already in use")
        self.assert_refused(self.logs, "--address", "192.0.2.1", "--behind-proxy", "--token-file", self.token, "--port", 0,
                            because="cannot listen on port 0 of 192.0.2.1")
        self.assert_refused(self.logs, "--address", "0.0.0.0", because="--token-file is required")
        self.assert_refused(self.logs, "--address", "localhost", because="is not an IP address")

    def test_files_that_cannot_be_read(self):
        rules = self.write("rules.json", '{"rules": []}')
        metadata = self.write("damaged.yaml", "vpp_size: many")
        self.assert_refused(self.logs, "--port", 0, "--rules", rules, because="rules.json")
        self.assert_refused(self.logs, "--port", 0, "--meta", self.folder / "missing.yaml", because="No such file or directory")
        self.assert_refused(self.logs, "--port", 0, "--meta", metadata, because="damaged.yaml")
        self.assert_refused("--push", "--token-file", self.token, "--port", 0, "--meta", metadata, because="damaged.yaml")
        (self.logs / "meta.yaml").write_text("vpp_size: many")
        self.assert_refused(self.logs, "--port", 0, because="meta.yaml")

    def test_a_database_or_a_spool_that_cannot_be_used(self):
        (self.work / "monitor.sqlite.spool").write_text("a file")
        self.assert_refused(self.logs, "--push", "--token-file", self.token, "--port", 0, because="Not a directory")
        self.database.write_text("text")
        (self.work / "monitor.sqlite.spool").unlink()
        self.assert_refused(self.logs, "--port", 0, because="is damaged, or is not a database of goodput monitor")

    def test_names_and_numbers(self):
        for arguments, because in ((("--url", "https://a b"), "contains spaces"), (("--url", "https://user@host/"), "--url"),
                                   (("--url", "https://host:0"), "--url"), (("--port", 70000), "--port"), (("--keep", "soon"), "--keep")):
            with self.subTest(arguments):
                self.assert_refused(self.logs, *arguments, because=because)


if __name__ == "__main__":
    sys.exit(push_case.run(__doc__))
