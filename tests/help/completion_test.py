"""Help, the manual page and the completions of the shells say the same of every command, and the shells complete it.

    completion_test.py --goodput build/dev/goodput

Runs bash, and zsh and fish where they are installed.
"""

import argparse
import functools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import shells

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FLAG = re.compile(r"(?<![\w-])(--[a-z][\w-]*|-[a-zA-Z])(?![\w-])")
# What stands where completions run. A file that is called like a command is no command.
FILES = ("trace", "whatif", "rows.csv", "rows two.csv", "forms/of.csv", "forms.csv")

HEAT_OPTIONS = "--help --heatmap --heatmap-step --heatmap-steps --heatmap-axes"

# Configs of the user's, each in a folder for --configs.
PLANS = ("mine/plans/zz-mine.json", "my own/plans/zz-own.json", "odd/plans/zz-$(touch${IFS}run)`touch${IFS}run`.json")


def flags(options):
    return {name for option in options for name in option["names"]}


def walk(command):
    yield command
    for one in command["commands"]:
        yield from walk(one)


class World:
    """The program, its command tree, and a folder with files and with the scripts of the shells."""

    def __init__(self, goodput):
        self.goodput = goodput
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name, "home")
        for name in FILES:
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        for name in PLANS:
            file = self.folder / name
            file.parent.mkdir(parents=True)
            shutil.copy(ROOT / "configs/plans/llama3-8b-h100.json", file)
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "goodput").symlink_to(goodput)
        self.tree = json.loads(self.output("help", "--json", "-"))
        assert self.tree["schema"] == "goodput.help/1"
        self.program = self.tree["command"]
        self.commands = list(walk(self.program))
        self.scripts = {}
        for shell in ("bash", "zsh", "fish"):
            script = pathlib.Path(self.scratch.name, "_goodput" if shell == "zsh" else f"goodput.{shell}")
            script.write_text(self.output("completion", shell))
            self.scripts[shell] = script

    def output(self, *arguments):
        return subprocess.run([self.goodput, *arguments], cwd=self.folder, capture_output=True, text=True,
                              env=shells.environment(self.folder, self.goodput), check=True).stdout

    def choices(self, command, flag):
        [found] = [one for one in self.commands if one["name"] == command]
        [option] = [option for option in found["options"] if flag in option["names"]]
        return set(option["choices"])


class HelpTest(unittest.TestCase):
    world: World

    def test_help_shows_the_flags_of_the_tree_and_no_other(self):
        for command in self.world.commands:
            with self.subTest(command["name"]):
                shown = self.world.output(*command["name"].split()[1:], "--help")
                rows = re.findall(r"^  (-.*?)(?:  |$)", shown, re.MULTILINE)
                self.assertEqual({flag for row in rows for flag in FLAG.findall(row)},
                                 flags(command["options"]) | flags(command["global_options"]))

    def test_the_manual_page_shows_the_flags_of_the_tree_and_no_other(self):
        page = self.world.output("help", "--man").replace("\\-", "-")
        for command in self.world.commands:
            if command["commands"] and command is not self.world.program:
                continue  # it has no section: it takes nothing but --help
            with self.subTest(command["name"]):
                start = ".SH OPTIONS\n" if command is self.world.program else f".SS {command['usage']}\n"
                section = re.split(r"^\.S[SH]", page.split(start)[1], maxsplit=1, flags=re.MULTILINE)[0]
                tags = re.findall(r"^\.TP\n(.*)$", section, re.MULTILINE)
                expected = flags(command["options"])
                if command is self.world.program:
                    expected |= flags(command["global_options"])
                # That there is --help is said once.
                self.assertEqual({flag for tag in tags for flag in re.findall(r"\\fB(-.*?)\\fR", tag)},
                                 expected if command is self.world.program else expected - {"-h", "--help"})

    def test_every_script_has_every_flag(self):
        for shell, script in self.world.scripts.items():
            text = script.read_text()
            written = set(FLAG.findall(text))
            if shell == "fish":
                written |= {"--" + name for name in re.findall(r" -l (\S+)", text)}
                written |= {"-" + name for name in re.findall(r" -s (\S+)", text)}
            for command in self.world.commands:
                with self.subTest(shell=shell, command=command["name"]):
                    self.assertLessEqual(flags(command["options"]) | flags(command["global_options"]), written)

    def test_every_script_says_where_it_comes_from_and_parses(self):
        for shell, script in self.world.scripts.items():
            if found(shell):
                with self.subTest(shell):
                    top = script.read_text().splitlines()[:4]
                    self.assertIn(f"generated by `goodput completion {shell}`", "\n".join(top))
                    done = subprocess.run([shell, "-n", script], capture_output=True, text=True, check=False)
                    self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


@functools.cache
def found(shell):
    if shutil.which(shell):
        return True
    print(f"skipped: no {shell}")
    return False


class Completes:
    """What every shell must offer. Of `--option=value` some offer the value, some the whole word."""

    name: str
    world: World

    @classmethod
    def setUpClass(cls):
        if not found(cls.name):
            raise unittest.SkipTest(f"no {cls.name}")
        cls.shell = cls.start()
        cls.addClassCleanup(cls.shell.close)

    def offered(self, line):
        """But options where none was begun: zsh offers them if there is nothing else."""
        words = {re.sub(r"^--[^=]*=(?=.)", "", word).removesuffix("=") for word in self.shell.complete(line)}
        return {word for word in words if not (line.endswith(" ") and word.startswith("-"))}

    def expect(self, line, words):
        with self.subTest(line):
            self.assertEqual(self.offered(line), set(words.split() if isinstance(words, str) else words))

    def expect_files(self, line, words):
        """Of folders some shells show the slash, some add it when the word is taken."""
        with self.subTest(line):
            self.assertEqual({word.rstrip("/").replace("\\ ", " ") for word in self.offered(line)}, set(words))

    def test_commands(self):
        self.expect("goodput wh", "whatif")
        self.expect("goodput ", {one["name"].split()[1] for one in self.world.program["commands"]})
        self.expect("goodput trace ", "info convert")
        self.expect("goodput trace i", "info")
        self.expect("goodput --json out.json pla", "plan plan-step placement")
        self.expect("goodput --json=out.json --quiet pla", "plan plan-step placement")
        self.expect("goodput absent ", "")
        self.expect("goodput trace absent ", "")

    def test_the_flags_of_every_command_and_no_other(self):
        for command in self.world.commands:
            self.expect(command["name"] + " -", flags(command["options"]) | flags(command["global_options"]))

    def test_options(self):
        self.expect("goodput whatif --he", HEAT_OPTIONS)
        self.expect("goodput whatif rows.csv --he", HEAT_OPTIONS)
        self.expect("goodput trace info --po", "--polarity")
        self.expect("goodput trace info --format csv rows.csv --po", "--polarity")
        self.expect("goodput --quiet trace info --po", "--polarity")

    def test_what_was_given_is_offered_again_only_if_it_may_be_repeated(self):
        self.expect("goodput whatif --meta m.yaml --me", "")
        self.expect("goodput whatif --meta=m.yaml --me", "")
        self.expect("goodput whatif --fix stage=3 --fi", "--fix")
        self.expect("goodput whatif -h --hel", "")
        self.expect("goodput whatif --quiet --qui", "")

    def test_choices(self):
        formats = self.world.choices("goodput whatif", "--format")
        self.assertIn("csv", formats)
        self.expect("goodput whatif --format ", formats)
        self.expect("goodput whatif --format=", formats)
        self.expect("goodput checkpoint --sharding=a", "adps")
        self.expect("goodput checkpoint --sharding a", "adps")
        self.expect("goodput --quiet checkpoint gpt-l --sharding=a", "adps")
        self.expect("goodput list sc", "schedules scenarios")
        self.expect("goodput list schedules ", "")
        self.expect("goodput completion ", "bash zsh fish")

    def test_names_of_configs_and_files(self):
        self.expect("goodput plan-step llama3-8b", "llama3-8b-h100")
        self.expect("goodput calibration info h200", "h200-measured h200-public")
        self.expect("goodput synth llama3-8b", "llama3-8b-h100")
        self.expect_files("goodput routing synth --seed 1 r", {"rows.csv", "rows two.csv"})
        self.assertIn("gpt-l", self.offered("goodput checkpoint "))
        self.assertIn("forms.csv", self.offered("goodput checkpoint "))
        self.expect("goodput plan-step llama3-8b-h100 ", "")

    def test_names_of_the_users_configs(self):
        self.expect("goodput plan-step zz", "")
        self.expect("goodput plan-step --configs mine zz", "zz-mine")
        self.expect("goodput plan-step --configs=mine zz", "zz-mine")
        self.expect("goodput --configs mine plan-step zz", "zz-mine")
        self.expect("goodput plan-step --configs absent --configs mine zz", "")  # goodput takes no absent folder

    def test_the_name_of_a_config_is_not_run(self):
        words = {word.replace("\\", "") for word in self.offered("goodput plan-step --configs odd zz")}
        self.assertEqual(words, {"zz-$(touch${IFS}run)`touch${IFS}run`"})
        self.assertFalse((self.world.folder / "run").exists())

    def test_a_program_that_is_not_there_has_no_names(self):
        self.expect("/absent/goodput plan-step llama3-8b", "")
        self.expect("/absent/goodput wh", "whatif")

    def test_files(self):
        self.expect_files("goodput whatif r", {"rows.csv", "rows two.csv"})
        self.expect_files("goodput whatif rows.csv trace r", {"rows.csv", "rows two.csv"})
        self.expect_files("goodput whatif --meta r", {"rows.csv", "rows two.csv"})
        self.expect_files("goodput whatif --meta=r", {"rows.csv", "rows two.csv"})
        self.expect_files("goodput whatif fo", {"forms.csv", "forms"})
        self.expect_files("goodput whatif -- r", {"rows.csv", "rows two.csv"})
        self.expect_files("goodput --configs fo", {"forms"})
        self.expect_files("goodput whatif --configs=fo", {"forms"})

    def test_nothing_where_there_is_no_telling(self):
        self.expect("goodput whatif --seed ", "")
        self.expect("goodput whatif --seed=", "")
        self.expect("goodput whatif --steps ", "")
        self.expect("goodput placement ", "")
        self.expect("goodput whatif -- --he", "")

    def test_a_file_that_is_called_like_a_command(self):
        self.expect("goodput --json trace wh", "whatif")
        self.expect_files("goodput whatif trace r", {"rows.csv", "rows two.csv"})
        self.expect("goodput whatif trace --he", HEAT_OPTIONS)
        self.expect("goodput whatif trace --polar", "")

    def test_help_of_commands(self):
        self.expect("goodput help tr", "trace")
        self.expect("goodput help trace ", "info convert")
        self.expect("goodput help calibration ", "info compare merge")
        self.expect("goodput help --quiet trace ", "info convert")
        self.expect("goodput help trace info ", "")
        self.expect("goodput help --m", "--man")
        self.expect("goodput help trace --m", "--man")


class BashTest(Completes, unittest.TestCase):
    name = "bash"

    @classmethod
    def start(cls):
        return shells.Bash(cls.world.scripts["bash"], cls.world.folder, cls.world.goodput)

    def test_redirections(self):
        self.expect_files("goodput completion zsh > fo", {"forms", "forms.csv"})
        self.expect("goodput completion > out z", "zsh")


class InteractiveBashTest(unittest.TestCase):
    """What the tab key makes of a line."""

    world: World

    def test_a_single_match_is_taken(self):
        shell = shells.InteractiveBash(self.world.scripts["bash"], self.world.folder, self.world.goodput)
        self.addCleanup(shell.close)
        for line, completed in (
                ("goodput wh", "goodput whatif "),
                ("goodput checkpoint --sharding=a", "goodput checkpoint --sharding=adps "),
                ("goodput whatif --meta=forms/", "goodput whatif --meta=forms/of.csv "),
                ("goodput whatif rows\\ ", "goodput whatif rows\\ two.csv "),
                ("goodput whatif \"rows ", "goodput whatif \"rows two.csv\" "),
                ("goodput --configs fo", "goodput --configs forms/"),
                ("goodput plan-step --configs=min", "goodput plan-step --configs=mine/"),
                ("goodput plan-step --configs ~/mine zz", "goodput plan-step --configs ~/mine zz-mine "),
                ("goodput plan-step --configs my\\ own zz", "goodput plan-step --configs my\\ own zz-own "),
                ("goodput plan-step --configs 'my own' zz", "goodput plan-step --configs 'my own' zz-own "),
                ("goodput plan-step llama3-8b", "goodput plan-step llama3-8b-h100 "),
                ("goodput whatif --seed f", "goodput whatif --seed f"),
                ("goodput whatif $HOME/forms/", "goodput whatif $HOME/forms/of.csv "),
                ("goodput completion zsh > forms/", "goodput completion zsh > forms/of.csv "),
                ("goodput completion zsh 2>forms/", "goodput completion zsh 2>forms/of.csv "),
                ("FOO=1 goodput wh", "FOO=1 goodput whatif "),
                ("./bin/goodput wh", "./bin/goodput whatif "),
                ("~/bin/goodput plan-step llama3-8b", "~/bin/goodput plan-step llama3-8b-h100 "),
        ):
            with self.subTest(line):
                self.assertEqual(shell.complete(line), completed)


class ZshTest(Completes, unittest.TestCase):
    name = "zsh"

    @classmethod
    def start(cls):
        return shells.Zsh(cls.world.scripts["zsh"], cls.world.folder, cls.world.goodput)

    def test_a_single_match_is_taken(self):
        for line, completed in (
                ("goodput wh", "goodput whatif "),
                ("goodput checkpoint --sharding=a", "goodput checkpoint --sharding=adps "),
                ("goodput whatif --dec", "goodput whatif --decompose-threshold="),
                ("goodput whatif rows\\ ", "goodput whatif rows\\ two.csv "),
                ("goodput plan-step --configs ~/mine zz", "goodput plan-step --configs ~/mine zz-mine "),
                ("goodput plan-step --configs my\\ own zz", "goodput plan-step --configs my\\ own zz-own "),
                ("goodput plan-step --configs 'my own' zz", "goodput plan-step --configs 'my own' zz-own "),
        ):
            with self.subTest(line):
                self.shell.complete(line)
                self.assertEqual(self.shell.line, completed)

    def test_installed_in_site_functions(self):
        shell = shells.Zsh(self.world.scripts["zsh"], self.world.folder, self.world.goodput, "installed")
        self.addCleanup(shell.close)
        for _ in range(2):  # the first loads the file
            self.assertEqual(shell.complete("goodput trace co"), ["convert"])


class FishTest(Completes, unittest.TestCase):
    name = "fish"

    @classmethod
    def start(cls):
        return shells.Fish(cls.world.scripts["fish"], cls.world.folder, cls.world.goodput)

    def test_quoted_folders(self):
        self.expect("goodput plan-step --configs my\\ own zz", "zz-own")
        self.expect("goodput plan-step --configs 'my own' zz", "zz-own")
        self.expect("goodput plan-step --configs ~/mine zz", "zz-mine")

    def test_descriptions(self):
        for line in ("goodput tr", "goodput help tr"):
            self.shell.complete(line)
            self.assertEqual(self.shell.described, {"trace": "Summarize traces and convert between formats"})
        self.shell.complete("goodput whatif --heatmap")
        self.assertEqual(self.shell.described.get("--heatmap"), "Draw a heat map of the workers' slowdowns, as .svg or .png")
        self.shell.complete("goodput plan-step llama3-8b")
        self.assertEqual(self.shell.described, {"llama3-8b-h100": "Llama 3 8B on 8 x H100 SXM5 80GB"})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--goodput", type=pathlib.Path, default=ROOT / "build/release/goodput")
    arguments, rest = parser.parse_known_args()
    world = World(arguments.goodput.resolve())
    for case in (HelpTest, BashTest, InteractiveBashTest, ZshTest, FishTest):
        case.world = world
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
