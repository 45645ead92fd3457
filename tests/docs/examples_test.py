"""examples.py on pages with known mistakes, and a goodput that only knows what it can be told."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import examples


def command(name, *flags, commands=()):
    return {"name": name, "options": [{"names": [flag]} for flag in flags], "commands": list(commands)}


HELP = command("goodput", "--version", commands=[
    command("goodput list"), command("goodput whatif", "--fix", "-f"),
    command("goodput trace", commands=[command("goodput trace info", "--meaning"), command("goodput trace convert", "--to")])])
HELP["global_options"] = [{"names": ["--json"]}]
GOODPUT = f"""#!/bin/bash
[[ $1 != help ]] || cat <<'END'
{json.dumps({"command": HELP})}
END
[[ $1 != where ]] || readlink -f "$0"
"""


class Planted(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name).resolve()
        for folder in ("configs/models", "tools/policy_process", "traces/samples"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "traces/samples/s.csv").write_text("1\n")
        self.goodput = self.root / "goodput"
        self.goodput.write_text(GOODPUT)
        self.goodput.chmod(0o755)

    def checked(self, text, name="page.md", without=(), renew=False):
        self.page = self.root / name
        self.page.parent.mkdir(parents=True, exist_ok=True)
        self.page.write_text(text)
        with tempfile.TemporaryDirectory() as scratch:
            checker = examples.Checker(examples.Place(Path(scratch).resolve(), self.root, self.goodput), without, renew)
            checker.check(self.page, name)
        return checker

    def wrong(self, text, **options):
        return self.checked(text, **options).wrong


class Transcripts(Planted):
    def test_what_is_printed(self):
        self.assertEqual(self.wrong("Text:\n\n    $ echo a; echo b >&2\n    a\n    b\n\nMore.\n"), [])
        self.assertEqual(self.wrong("```console\n$ echo a\na\n```\n"), [])

    def test_what_is_not(self):
        self.assertEqual(self.wrong("Text.\n\n    $ echo a\n    b\n"), ["page.md:3: $ echo a\nprints\na\n"])
        self.assertEqual(len(self.wrong("```console\n$ echo a\nb\n```\n")), 1)

    def test_more_and_less_than_is_shown(self):
        self.assertEqual(len(self.wrong("    $ echo a; echo b\n    a\n")), 1)
        self.assertEqual(len(self.wrong("    $ echo a\n    a\n    b\n")), 1)

    def test_nothing_is_shown_of_a_command_that_prints_nothing(self):
        self.assertEqual(self.wrong("    $ true\n    $ echo a\n    a\n    $ x=1\n"), [])
        self.assertEqual(len(self.wrong("    $ echo a\n    $ true\n")), 1)

    def test_blank_lines_are_compared_but_those_behind_the_output(self):
        self.assertEqual(self.wrong("    $ printf 'a\\n\\nb\\n'\n    a\n\n    b\n\n    $ echo c\n    c\n"), [])
        self.assertEqual(len(self.wrong("    $ printf 'a\\n\\nb\\n'\n    a\n    b\n")), 1)

    def test_dots_stand_for_any_lines_between_the_others(self):
        text = "    $ seq 5\n    ...\n    2\n    ...\n    {}\n    ...\n"
        self.assertEqual(self.wrong(text.format(4)), [])
        self.assertEqual(len(self.wrong(text.format(1))), 1)

    def test_lines_that_go_on(self):
        loop = "    $ for i in 1 2; do\n    >   echo $i\n    > done\n"
        self.assertEqual(self.wrong(loop + "    1\n    2\n"), [])
        self.assertEqual(len(self.wrong(loop + "    1\n")), 1)

    def test_a_here_document(self):
        made = "    $ cat > a.txt <<'END'\n    $x\n\n      2\n    END\n    $ cat a.txt\n"
        self.assertEqual(self.wrong(made + "    $x\n\n      2\n"), [])
        self.assertEqual(len(self.wrong(made + "    $x\n")), 1)
        self.assertEqual(self.wrong("    $ cat <<< a\n    a\n"), [])

    def test_a_page_is_one_shell_in_a_folder_of_its_own(self):
        self.assertEqual(self.wrong("    $ x=1; mkdir f; cd f\n\nText.\n\n    $ echo $x $(basename $PWD) $(ls ..)\n    1 f f\n"), [])
        self.assertEqual(self.wrong("    $ ls\n"), [])

    def test_where_the_shell_ends_all_that_follow_are_wrong(self):
        self.assertEqual(len(self.wrong("    $ echo a\n    a\n    $ exit 3\n    $ echo b\n    b\n")), 2)

    def test_a_failure_shows_its_error(self):
        self.assertEqual(self.wrong("    $ false\n"), ["page.md:1: $ false\nends with 1, and shows no error"])
        self.assertEqual(self.wrong("    $ echo error: no; false\n    error: no\n"), [])
        self.assertEqual(self.wrong("    $ echo 1 worse; (exit 3)\n    1 worse\n"), [])
        self.assertEqual(len(self.wrong("    $ echo all is well; (exit 3)\n    all is well\n")), 1)

    def test_goodput_is_installed_below_usr(self):
        self.assertEqual(self.wrong("    $ goodput where\n    /usr/bin/goodput\n"), [])

    def test_samples_are_at_hand_for_the_pages_of_formats_only(self):
        text = "    $ cat traces/samples/s.csv\n    1\n"
        self.assertEqual(self.wrong(text, name="docs/formats/page.md"), [])
        self.assertEqual(len(self.wrong(text, name="docs/page.md")), 1)

    def test_what_is_left_out_without_a_feature(self):
        self.assertEqual(self.wrong("    $ cat a.parquet\n    1\n", without=["parquet"]), [])
        self.assertEqual(len(self.wrong("    $ cat a.parquet\n    1\n")), 1)

    def test_what_others_run(self):
        self.assertEqual(self.wrong("```console\n$ false\n```\n", name="CONTRIBUTING.md"), [])
        self.assertEqual(len(self.wrong("    make all\n", name="CONTRIBUTING.md")), 1)

    def test_renew(self):
        old = "A.\n\n    $ echo b\n    $ seq 3\n    1\n    ...\n    $ printf 'c\\n\\nd\\n'\n    e\n    f\n    g\n\nB.\n"
        new = "A.\n\n    $ echo b\n    b\n    $ seq 3\n    1\n    ...\n    $ printf 'c\\n\\nd\\n'\n    c\n\n    d\n\nB.\n"
        self.assertEqual(len(self.wrong(old, renew=True)), 2)
        self.assertEqual(self.page.read_text(), new)
        self.assertEqual(self.wrong(new, renew=True), [])
        self.assertEqual(self.page.read_text(), new)

    def test_renew_keeps_how_much_of_a_long_output_is_shown(self):
        self.assertEqual(len(self.wrong("    $ seq 9\n    0\n    1\n    ...\n    x\n", renew=True)), 1)
        self.assertEqual(self.page.read_text(), "    $ seq 9\n    1\n    2\n    ...\n    9\n")


class NotRun(Planted):
    def test_commands_that_nobody_runs_are_listed(self):
        self.assertEqual(self.wrong("Text.\n\n    ./goodput-setup --dev && ./run-tests\n"), [])
        self.assertEqual(self.wrong("    build/gpu/gpu_test    # comment\n    build/gpu/gpu_test --small\n"), [])
        self.assertIn("nor listed", self.wrong("    goodput list\n")[0])
        self.assertIn("page.md:3: make x\n", self.wrong("Text.\n\n    ./goodput-setup\n    make x\n")[0])

    def test_fences_say_what_they_hold(self):
        for fence in ("", "sh", "console", "whatever"):
            self.assertIn("nor fenced", self.wrong(f"```{fence}\nmake x\n```\n")[0])
        self.assertEqual(self.wrong("```json\n{}\n```\n\n```text\na -> b\n```\n"), [])
        self.assertEqual(self.wrong("Text\n    that goes on.\n"), [])

    def test_no_commands_outside_of_blocks(self):
        for text in ("Text\n    $ exit\n", "Text\n$ exit\n", "- a\n\n  ```console\n  true\n  ```\n", "~~~\ntrue\n~~~\n"):
            self.assertIn("no block of its own", self.wrong(text)[0])
        self.assertIn("nor listed", self.wrong("- a\n\n      $ true\n")[0])

    def test_no_commands_in_data(self):
        self.assertIn("commands in it", self.wrong("```text\na\n$ echo a\n```\n")[0])
        self.assertIn("commands in it", self.wrong("```text\ngoodput list\n```\n")[0])

    def test_what_is_listed_is_not_run(self):
        self.assertIn("listed in NOT_RUN", self.wrong("    $ echo a > ../ran\n    $ ./goodput-setup\n")[0])
        self.assertEqual(self.checked("    $ ./goodput-setup\n").run, 0)

    def test_entries_that_no_page_has(self):
        (self.root / "README.md").write_text("`goodput list`\n\n    $ goodput list\n")
        for name in ("CONTRIBUTING.md", "docs/a.md"):
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).write_text("Text.\n")
        done = subprocess.run([sys.executable, "-B", examples.__file__, self.root, self.goodput], text=True,
                              stdout=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stdout.count("NOT_RUN: no page has ")), (1, len(examples.NOT_RUN)))
        self.assertIn("3 pages: 1 commands run, 0 left out, 1 code spans checked", done.stdout)


class Spans(Planted):
    def test_commands_that_are(self):
        for span in ("goodput", "goodput list", "goodput list models", "goodput whatif TRACE --fix 'stage=3' --json=-",
                     "goodput COMMAND", "goodput trace info FILE --meaning", "goodput --version", "goodput trace\ninfo FILE",
                     "goodput whatif [--fix SELECTOR]", "zcat a | goodput whatif - -f x | head -3", "source <(goodput list)",
                     "goodput.list/1", "whatif --fix", "trace --json", "wc --lines", "--fix SELECTOR", "--regolden", "-DX=y", "-1"):
            self.assertEqual(self.wrong(f"Text `{span}`.\n"), [], span)

    def test_commands_that_are_not(self):
        for span, why in (("goodput lost", "goodput has no lost"),
                          ("goodput trace inform FILE", "goodput trace has no inform"),
                          ("goodput whatif --fixed a", "goodput whatif has no --fixed"),
                          ("whatif --fixed", "goodput whatif has no --fixed"),
                          ("goodput list --fix", "goodput list has no --fix"),
                          ("goodput trace convert IN OUT --meaning held", "goodput trace convert has no --meaning"),
                          ("goodput trace\nconvert --from x", "goodput trace convert has no --from"),
                          ("goodput list -x", "goodput list has no -x"),
                          ("goodput list [--only=X]", "goodput list has no --only"),
                          ("zcat a | goodput whatever -", "goodput has no whatever"),
                          ("--fixed 3", "no command has --fixed"), ("-x", "no command has -x")):
            found = self.wrong(f"Text `{span}` and\n\n    $ true\n")
            self.assertEqual(len(found), 1, span)
            self.assertIn(why, found[0])

    def test_blocks_are_no_spans(self):
        self.assertEqual(self.wrong("```cpp\n// `goodput nothing`\n```\n\n    $ true '`goodput nothing`'\n"), [])


if __name__ == "__main__":
    unittest.main()
