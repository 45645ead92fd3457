"""Pages of results in a real browser: what they show, and what they must never do.

    page_test.py --goodput PROGRAM [--screenshots FOLDER]

--screenshots keeps a picture of every page, wide and narrow, light and dark, to be looked at. Where there is no browser
it prints `skipped: REASON` and exits with 77, unless GOODPUT_REQUIRE_BROWSER is set: then that is a failure.
"""

import argparse
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path

import page_world
import results
from browser import Unavailable
from page_world import NARROW, WIDE, World, point_at, press, read_off, text_of
from planning_cases import Check, Checked, LatePlan, LimitedPlan, Older, Plan, Simulate, Sweep  # noqa: F401: unittest finds them here

LARGEST_PAGE = 1_500_000  # of a job with 1024 GPUs
MOST_BARE_LOOPS = 10  # that redrawing all cells may take; 3 to 5 were measured

# Texts that a script writes where it has no number.
NONSENSE = """
const found = [];
const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
while (texts.nextNode()) if (/\\b(NaN|undefined|Infinity)\\b|\\[object/.test(texts.currentNode.data)) found.push(texts.currentNode.data);
return found;
"""

world = None


class EveryPage(unittest.TestCase):
    def check_page(self, name, width, theme):
        browser = world.open(name, width, theme)
        self.assertEqual(browser.messages(), [], "the console is silent")
        own = world.pages[name].resolve().as_uri()
        self.assertEqual([url for url in browser.requests() if url != own and not url.startswith("data:")], [],
                         "nothing leaves the file")
        self.assertGreater(len(text_of("main h1")), 0)
        self.assertIn("Where these numbers come from", text_of("footer h2"))
        self.assertEqual(browser.run("return document.documentElement.dataset.theme"), theme)
        self.assertLessEqual(browser.run("return document.documentElement.scrollWidth"), width, "nothing sticks out")
        self.assertEqual(browser.run(NONSENSE), [])
        if world.screenshots:
            browser.save_screenshot(world.screenshots / f"{name}-{width}-{theme}.png", width)

    def test_every_page_is_whole_and_silent_wide_and_narrow_light_and_dark(self):
        for name in world.pages:
            for width, theme in ((WIDE, "light"), (NARROW, "dark")):
                with self.subTest(page=name, width=width):
                    self.check_page(name, width, theme)

    def test_axe_finds_nothing_serious(self):
        for name in world.pages:
            if name in ("cells", "largest", "gpus", "two", "sizes"):
                continue  # of the same elements as others, only more
            with self.subTest(page=name):
                browser = world.open(name)
                browser.run("document.querySelector('details')?.setAttribute('open', '')")
                self.assertEqual(browser.violations(), [])
        with self.subTest("dark"):
            self.assertEqual(world.open("whatif", theme="dark").violations(), [])

    def test_a_page_of_1024_gpus_is_small(self):
        self.assertLess(world.pages["gpus"].stat().st_size, LARGEST_PAGE)
        self.assertLess(world.pages["largest"].stat().st_size, LARGEST_PAGE)


class Whatif(unittest.TestCase):
    def setUp(self):
        world.open("whatif")

    def readout(self):
        return text_of("figure.chart output.readout")[0]

    def test_the_headline_is_the_verdict(self):
        self.assertRegex(text_of("h1")[0], r"One slow worker costs this job 2\d\.\d % of its time: rank 10 ")

    def test_a_cell_that_is_pointed_at_says_its_rank_host_slowdown_and_pace(self):
        # Cell (2, 2) of 4 x 4, in the middle of the canvas: right of the labels, below the headings.
        size = world.browser.run("const c = document.querySelector('.cells canvas'); return [c.clientWidth, c.clientHeight]")
        point_at(".cells canvas", size[0] * 0.65, 34 + (size[1] - 34) * 0.62)
        self.assertRegex(self.readout(), r"dp 2, stage 2 · rank 10 · host unknown · S_w 1\.3\d+.× \(mean of all steps\) · takes 1\.8\d+.× as long as its peers")

    def test_arrow_keys_walk_from_cell_to_cell(self):
        press(".drawing[role=application]", "\ue014")  # right
        self.assertIn("dp 0, stage 0", self.readout())
        press(".drawing[role=application]", "\ue015\ue014")  # down, right
        self.assertIn("dp 1, stage 1", self.readout())

    def test_the_slider_shows_one_step(self):
        press("input[type=range]", "\ue014\ue014")
        self.assertEqual(text_of(".slider output"), ["step 2"])
        press(".drawing[role=application]", "\ue014")
        self.assertIn("(step 2)", self.readout())

    def test_a_line_can_be_read_off_with_the_keys(self):
        world.browser.run("[...document.querySelectorAll('figcaption')].find((f) => f.textContent.startsWith('Slowdown S'))"
                          ".parentElement.querySelector('.drawing').id = 'lines'")
        press("#lines", "\ue010")  # End
        said = world.browser.run("return document.querySelector('#lines').parentElement.querySelector('output').textContent")
        self.assertRegex(said, r"step 6: S 1\.3\d+.×, launch slowdown 1\.0")

    def test_a_missing_member_is_said_and_no_empty_chart_drawn(self):
        world.open("old")
        said = text_of(".missing")
        self.assertTrue(any("slowdown of every worker by step" in one for one in said), said)
        self.assertEqual(text_of(".slider"), [])

    def test_what_a_view_cannot_read_is_shown_all_the_same(self):
        world.open("broken")
        self.assertIn("something that this page needs", "".join(text_of(".missing")))
        self.assertIn("root causes", "".join(text_of("main")))


class Fleet(unittest.TestCase):
    def setUp(self):
        world.open("fleet")

    def test_the_headline_is_the_first_line_of_the_text(self):
        self.assertEqual(text_of("h1"), [(world.folder / "fleet.text").read_text(encoding="utf-8").split("\n", 1)[0]])
        self.assertRegex(text_of("h1")[0], r"^Stragglers cost these \d+ jobs [\d.]+ % of their GPU-hours \([\d,]+ of [\d,]+\); ")

    def test_every_part_of_the_result_is_shown(self):
        for title in ("Which causes cost the most?", "Which jobs lose the most?", "Which operations waste time?", "Do larger jobs lose more?",
                      "Which hosts are slow in several jobs?", "How does this compare with the paper?", "Which jobs were left out?"):
            self.assertIn(title, text_of("h2"))
        for title in ("Waste per job", "Slow steps", "Slowest workers", "Last pipeline stage", "Sequence lengths"):
            self.assertIn(title, text_of("h3"))
            self.assertRegex(read_off(title, "\ue010"), r": \d+\.\d\u202f%$")  # End

    def test_the_share_of_kept_jobs_stands_beside_the_paper_s(self):
        self.assertRegex("".join(text_of("main")), r"The filters keep [\d.]+ % of the jobs .*The paper kept 38\.2 % of the jobs")

    def test_gpu_hours_are_never_durations(self):
        text = "".join(text_of("main"))
        self.assertIn("GPU-hours", text)
        self.assertNotRegex(text, r"\d\u202f(days|h|min)\b")

    def test_gpu_hours_of_any_result_are_never_durations(self):
        world.open("rows")
        figures = dict(zip(text_of("dl.figures dt"), text_of("dl.figures .value")))
        self.assertEqual(figures, {"GPU-hours": "188\u202f924\u202fGPU-hours", "mtbf": "2\u202fdays"})


class Tables(unittest.TestCase):
    def test_a_heading_sorts_and_says_so(self):
        world.open("rows")
        first = "return document.querySelector('main tbody th').textContent"
        self.assertEqual(world.browser.run(first), "0")
        world.browser.run("document.querySelector('main button.sort').click()")
        self.assertEqual(world.browser.run(first), "2 499".replace(" ", "\u202f"))
        self.assertEqual(world.browser.run("return document.querySelector('main th[aria-sort]').getAttribute('aria-sort')"),
                         "descending")

    def test_more_than_1000_rows_are_pages(self):
        world.open("rows")
        rows = "return document.querySelectorAll('main tbody tr').length"
        self.assertEqual(world.browser.run(rows), 1000)
        for expected in (1000, 500):
            world.browser.run("[...document.querySelectorAll('.pager button')].at(-1).click()")
            self.assertEqual(world.browser.run(rows), expected)
        self.assertRegex(text_of(".pager span")[0], r"rows 2.001 to 2.500 of 2.500")

    def test_csv_has_every_row_and_no_formula(self):
        world.open("rows")
        world.browser.run("document.querySelector('main .table-foot > button').click()")
        deadline = time.monotonic() + 10
        while not (found := [p for p in world.folder.glob("*.csv") if p.name.startswith("x-") and p.stat().st_size > 0]) and time.monotonic() < deadline:
            time.sleep(0.05)
        lines = found[0].read_bytes().decode().split("\r\n")
        self.assertEqual(lines[0], "at,name")
        self.assertEqual(lines[1], "0,'=1+1")
        self.assertEqual(len(lines), 2502)  # the heading, 2500 rows, the end

    def test_a_table_behind_a_chart_is_made_when_it_is_opened(self):
        world.open("whatif")
        tables = "return document.querySelectorAll('details table').length"
        self.assertEqual(world.browser.run(tables), 0)
        world.browser.run("document.querySelector('details summary').click()")
        self.assertEqual(world.browser.run_async("setTimeout(() => done(document.querySelectorAll('details table').length), 50)"), 1)


class Pictures(unittest.TestCase):
    def test_the_pipeline_says_what_runs_when(self):
        world.open("plan-step")
        figure = "[...document.querySelectorAll('figcaption')].find((f) => f.textContent.startsWith('Passes')).parentElement"
        world.browser.run(f"{figure}.querySelector('.drawing').id = 'pipeline'")
        press("#pipeline", "\ue011")  # Home
        said = world.browser.run(f"return {figure}.querySelector('output').textContent")
        self.assertRegex(said, r"stage 0 · \S+ .*starts at .*takes ")

    def test_slots_say_where_the_other_replicas_are(self):
        world.open("placement")
        figure = "[...document.querySelectorAll('figcaption')].find((f) => f.textContent.startsWith('Which expert')).parentElement"
        world.browser.run(f"{figure}.querySelector('.drawing').id = 'slots'")
        press("#slots", "\ue011")
        self.assertRegex(world.browser.run(f"return {figure}.querySelector('output').textContent"),
                         r"node 0, slot 0: expert \d+, replicas on nodes \d+, \d+")

    def test_results_of_one_kind_are_compared(self):
        world.open("two")
        self.assertIn("Comparison: Stragglers", text_of("h2"))
        self.assertEqual(len(text_of("article")), 2)

    def test_200_000_cells_are_redrawn_at_the_cost_of_looking_up_their_colours(self):
        """Against a bare loop over as many cells in the same browser, because milliseconds depend on the machine."""
        world.open("cells")
        redrawn, bare = world.browser.run_async("""
            const slider = document.querySelector("input[type=range]");
            const canvas = document.querySelector(".cells canvas");
            const cells = arguments[0];
            const timed = (work) => { const begin = performance.now(); work(); return performance.now() - begin; };
            const colours = new Map(Array.from({length: 256}, (_, at) => [at, at * 65793]));
            const bareLoop = () => {
              const image = new ImageData(1000, cells / 1000);
              const words = new Uint32Array(image.data.buffer);
              for (let at = 0; at < cells; at += 1) words[at] = colours.get((at * 7919) % 256);
              const drawn = document.createElement("canvas");
              drawn.width = 1000;
              drawn.height = cells / 1000;
              drawn.getContext("2d").putImageData(image, 0, 0);
              drawn.getContext("2d").getImageData(0, 0, 1, 1);
            };
            const redraw = (at) => {
              slider.value = at;
              slider.dispatchEvent(new Event("input"));
              canvas.getContext("2d").getImageData(0, 0, 1, 1);
            };
            const times = [[], []];
            const one = (at) => {
              if (at > Number(slider.max)) { done(times); return; }
              times[0].push(timed(() => redraw(at)));
              times[1].push(timed(bareLoop));
              requestAnimationFrame(() => one(at + 1));
            };
            one(0);""", results.CELLS)
        print(f"\n{results.CELLS} cells: redrawn in {min(redrawn):.0f} ms, a bare loop {min(bare):.0f} ms (least of {len(bare)})")
        self.assertLess(min(redrawn), MOST_BARE_LOOPS * min(bare))


class Theme(unittest.TestCase):
    def test_the_button_outdoes_the_system_and_is_remembered_where_it_can_be(self):
        world.open("whatif", theme="dark")
        paper = "return getComputedStyle(document.body).backgroundColor"
        dark = world.browser.run(paper)
        world.browser.run("document.querySelector('button.theme').click()")
        self.assertNotEqual(world.browser.run(paper), dark)
        self.assertEqual(text_of("button.theme"), ["Dark"])
        world.browser.run("document.querySelector('button.theme').click(); localStorage.clear()")

    def test_every_control_is_reached_with_the_tabulator_and_shows_it(self):
        world.open("whatif")
        wanted = world.browser.run("return document.querySelectorAll('a[href], button, input, summary, [tabindex=\"0\"]').length")
        from selenium.webdriver.common.action_chains import ActionChains
        ActionChains(world.browser.driver).send_keys("\ue004" * wanted).perform()
        self.assertEqual(world.browser.run("return getComputedStyle(document.activeElement).outlineStyle"), "solid")
        self.assertTrue(world.browser.run("return document.querySelector('footer').contains(document.activeElement)"))


class HostileNames(unittest.TestCase):
    def setUp(self):
        world.open("hostile")

    def test_markup_in_a_name_is_text(self):
        self.assertIsNone(world.browser.run("return window.pwned ?? null"))
        self.assertEqual(world.browser.run("return document.querySelectorAll('main script, main img, main iframe').length"), 0)
        self.assertIn("<script>window.pwned = 1</script>", "".join(text_of("main")))

    def test_marks_that_turn_or_hide_text_are_seen(self):
        text = "".join(text_of("main"))
        self.assertIn("⟨U+202E⟩", text)
        self.assertNotIn("\u202e", text)
        self.assertIn("⟨U+200B⟩", text)
        self.assertIn("⟨U+E0041⟩", text)

    def test_letters_from_right_to_left_are_isolated(self):
        self.assertIn("\u2068\u05d0\u05d1\u2069: stragglers cost", text_of("h1")[0])

    def test_a_name_of_ten_megabytes_is_cut_and_says_so(self):
        self.assertLess(world.pages["hostile"].stat().st_size, 600_000)
        self.assertIn("more bytes left out of this page]", "".join(text_of("main")))


def main():
    global world
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--goodput", required=True, type=Path)
    parser.add_argument("--screenshots", type=Path)
    options, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            world = page_world.world = World(options.goodput.resolve(), Path(folder), options.screenshots)
        except Unavailable as why:
            print(f"skipped: {why}")
            return 1 if os.environ.get("GOODPUT_REQUIRE_BROWSER") else 77
        with world.browser:
            return not unittest.main(argv=[sys.argv[0], *rest], exit=False).result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(main())
