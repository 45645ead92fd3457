"""Pages of a running `goodput monitor` in a real browser, with scripts and without.

    monitor_test.py --goodput PROGRAM [--screenshots FOLDER]
    monitor_test.py --url http://127.0.0.1:PORT --job NAME [--screenshots FOLDER]

The first starts a monitor over logs that it makes with `synth`: worker dp 1 stage 1 is slow. Where there is no browser
it prints `skipped: REASON` and exits with 77, unless GOODPUT_REQUIRE_BROWSER is set: then that is a failure.
"""

import argparse
import contextlib
import os
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import quote

from browser import Browser, Unavailable
from monitored_job import LARGE_PLAN, LARGE_STEPS, MonitoredJob

WIDE, NARROW = 1280, 380
TOKEN = "a-token-of-the-page-test"
USER = "ann"
NONSENSE = """
const found = [];
const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
while (texts.nextNode()) if (/\\b(NaN|nan|undefined|Infinity|inf)\\b|\\[object/.test(texts.currentNode.data)) found.push(texts.currentNode.data);
return found;
"""

monitor = None
large = None
browser = None
screenshots = None


def visit(path, width=WIDE, theme="light", scripts=True):
    browser.command("Emulation.setScriptExecutionDisabled", value=not scripts)
    browser.show(width, theme)
    browser.command("Network.enable")
    browser.command("Network.setExtraHTTPHeaders", headers=monitor.authorization(USER))
    browser.requests()
    browser.messages()
    browser.driver.get(monitor.url + path)


def text_of(selector):
    return browser.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)


def wait_for(condition, what, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(f"waited {seconds} s for {what}")


def pages():
    job = "/jobs/" + quote(monitor.job)
    incident = monitor.incident()
    found = {"incident": "/incidents/" + incident["key"]} if incident else {}
    return {**found, "jobs": "/", "job": job, "span": f"{job}?span=3000", "step": f"{job}/steps/0/{monitor.last_step()}",
            "worker": f"{job}/workers/1/1", "incidents": "/incidents"}


class EveryPage(unittest.TestCase):
    def check_page(self, name, path, width, theme, scripts):
        visit(path, width, theme, scripts)
        # The driver runs scripts of its own even where the page may not.
        browser.command("Emulation.setScriptExecutionDisabled", value=False)
        self.assertEqual(browser.messages(), [], "the console is silent")
        foreign = [url for url in browser.requests() if not url.startswith((monitor.url + "/", "data:"))]
        self.assertEqual(foreign, [], "nothing is asked of anybody else")
        self.assertEqual(len(text_of("h1")), 1)
        self.assertLessEqual(browser.run("return document.documentElement.scrollWidth"), width, "nothing sticks out")
        self.assertEqual(browser.run(NONSENSE), [])
        if screenshots:
            kind = "" if scripts else "-no-script"
            browser.save_screenshot(screenshots / f"monitor-{name}-{width}-{theme}{kind}.png", width)

    def test_every_page_is_whole_and_silent_wide_and_narrow_light_and_dark(self):
        for name, path in pages().items():
            for width, theme, scripts in ((WIDE, "light", True), (NARROW, "dark", True), (WIDE, "dark", False),
                                          (NARROW, "light", False)):
                with self.subTest(page=name, width=width, scripts=scripts):
                    self.check_page(name, path, width, theme, scripts)

    def test_axe_finds_nothing_serious(self):
        for name, path in pages().items():
            for width, theme in ((WIDE, "light"), (NARROW, "dark")):
                with self.subTest(page=name, width=width):
                    visit(path, width, theme)
                    browser.run("document.querySelectorAll('details').forEach((one) => one.setAttribute('open', ''))")
                    self.assertEqual(browser.violations(), [])

    def test_what_there_is_not_is_said_on_a_page(self):
        visit("/jobs/nobody")
        self.assertEqual(text_of("h1"), ["Not found"])
        self.assertEqual(browser.violations(), [])


class LargeJob(unittest.TestCase):
    """Of 128 x 64 workers."""

    def setUp(self):
        global monitor
        if large is None:
            self.skipTest("another monitor is looked at")
        small, monitor = monitor, large
        self.addCleanup(globals().__setitem__, "monitor", small)

    def test_every_worker_is_on_the_map_and_nothing_sticks_out(self):
        for name in ("job", "step", "worker"):
            for width, theme in ((WIDE, "light"), (NARROW, "dark")):
                with self.subTest(page=name, width=width):
                    visit(pages()[name], width, theme)
                    self.assertEqual(browser.messages(), [], "the console is silent")
                    self.assertLessEqual(browser.run("return document.documentElement.scrollWidth"), width)
                    if name != "worker":
                        places = browser.run("return [...document.querySelectorAll('.map title')].map((one) => one.textContent)")
                        self.assertTrue(any("dp 127, stage 63" in place for place in places))
                        self.assertGreaterEqual(len(places), 128 * 64)
                    if screenshots:
                        browser.save_screenshot(screenshots / f"monitor-large-{name}-{width}-{theme}.png", width)

    def test_axe_finds_nothing_serious(self):
        for name in ("job", "step"):
            with self.subTest(page=name):
                visit(pages()[name])
                self.assertEqual(browser.violations(), [])


class Job(unittest.TestCase):
    def setUp(self):
        visit(pages()["job"])

    def test_the_theme_is_that_of_the_system(self):
        colour = "return getComputedStyle(document.body).backgroundColor"
        light = browser.run(colour)
        browser.show(WIDE, "dark")
        self.assertNotEqual(browser.run(colour), light)

    def test_a_cell_of_the_map_leads_to_its_worker(self):
        browser.run("""
            const cell = [...document.querySelectorAll(".map path")].find((one) => /^dp 1, stage 1\\b/.test(one.textContent));
            cell.dispatchEvent(new MouseEvent("click", {bubbles: true}));""")
        wait_for(lambda: browser.driver.current_url.endswith("/workers/1/1"), "the page of the worker")

    def test_boxes_that_scroll_can_be_reached_with_the_keyboard(self):
        self.assertEqual(browser.run("""
            return [...document.querySelectorAll("main *")].filter((one) =>
              ["auto", "scroll"].includes(getComputedStyle(one).overflowX) && one.scrollWidth > one.clientWidth &&
              one.tabIndex < 0).map((one) => one.outerHTML.slice(0, 80));"""), [])

    def test_news_come_without_a_reload(self):
        browser.run("window.isTheSamePage = true; document.querySelector('#verdict dl .value').textContent = 'old';")
        monitor.make_news()
        wait_for(lambda: browser.run("return document.querySelector('#verdict dl .value').textContent") != "old", "news")
        self.assertTrue(browser.run("return window.isTheSamePage === true"))

    def test_a_lost_connection_shows_and_goes(self):
        banner = "return document.getElementById('connection').hidden ? '' : document.getElementById('connection').textContent"
        self.assertEqual(browser.run(banner), "")
        browser.command("Network.enable")
        browser.command("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1)
        # A stream that is open stays open in this emulation: a page that is shown again listens anew.
        browser.run("document.dispatchEvent(new Event('visibilitychange'))")
        wait_for(lambda: "Lost the connection to the monitor" in browser.run(banner), "the banner")
        browser.command("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
        wait_for(lambda: browser.run(banner) == "", "the banner to go")
        browser.messages()


class Step(unittest.TestCase):
    def test_the_slider_leads_to_another_step(self):
        visit(pages()["step"])
        browser.run("const s = document.querySelector('#step-slider'); s.focus(); s.value = s.min; "
                    "s.dispatchEvent(new Event('input')); s.dispatchEvent(new Event('change'));")
        wait_for(lambda: not browser.driver.current_url.endswith(pages()["step"]), "the other step")
        self.assertIn("/steps/0/", browser.driver.current_url)

    def test_links_lead_to_its_neighbours_without_scripts(self):
        visit(pages()["step"], scripts=False)
        from selenium.webdriver.common.by import By
        browser.driver.find_element(By.CSS_SELECTOR, "a[rel=prev]").click()
        wait_for(lambda: not browser.driver.current_url.endswith(pages()["step"]), "the step before")
        browser.driver.find_element(By.CSS_SELECTOR, "form.slider button").click()
        wait_for(lambda: "/steps/0/" in browser.driver.current_url, "the form's answer")
        browser.command("Emulation.setScriptExecutionDisabled", value=False)


class WhatPeopleDo(unittest.TestCase):
    """To an incident. The last class by name: it ends the incident that others look at."""

    def setUp(self):
        if not monitor.token:
            self.skipTest("this monitor has no token")
        self.incident = monitor.incident()
        self.page = "/incidents/" + self.incident["key"]

    def state(self):
        return monitor.get("/api/v1" + self.page)["incident"]["state"]

    def send(self, form, **headers):
        """The status of the answer to a form."""
        request = urllib.request.Request(monitor.url + self.page, data=form.encode(), method="POST", headers=headers)
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=20)
        with refused.exception as answer:
            return answer.code

    def click(self, action):
        from selenium.webdriver.common.by import By
        browser.driver.find_element(By.CSS_SELECTOR, f"input[value={action}] ~ div button").click()

    def test_1_who_is_refused_changes_nothing(self):
        form = "action=end&by=eve"
        self.assertEqual(self.send(form), 401)
        self.assertEqual(self.send(form, Authorization="Bearer " + TOKEN[:-1] + "X"), 401)
        known = monitor.authorization(USER)
        self.assertEqual(self.send(form, Origin="https://evil.example.org", **known), 403)
        self.assertEqual(self.send(form, **{"Sec-Fetch-Site": "cross-site"}, **known), 403)
        self.assertEqual(self.send("action=end&by=" + "x" * 5000, **known), 413)
        self.assertEqual(self.send("action=end&by=", **known), 400)
        self.assertEqual(monitor.get("/api/v1" + self.page)["incident"], self.incident)

    def test_2_what_somebody_types_stays_when_the_page_is_renewed(self):
        visit(self.page)
        self.assertEqual(text_of("h1"), [self.incident["sentence"]])
        browser.run("document.querySelector('#mute-by').value = 'bob'; document.querySelector('#facts td').textContent = 'old';")
        monitor.make_news()
        wait_for(lambda: text_of("#facts td")[0] != "old", "the facts to be renewed")
        self.assertEqual(browser.run("return document.querySelector('#mute-by').value"), "bob")

    def test_3_forms_acknowledge_mute_and_end_without_scripts(self):
        for action, state in (("acknowledge", "acknowledged"), ("mute", "muted"), ("end", "closed")):
            with self.subTest(action=action):
                visit(self.page, scripts=False)
                self.click(action)
                wait_for(lambda: self.state() == state, "the action")
                wait_for(lambda: state in text_of("#verdict .note")[0], "the page of the incident")
                self.assertTrue(browser.driver.current_url.endswith(self.page), browser.driver.current_url)
                self.assertIn(USER, text_of("#facts")[0])
                browser.command("Emulation.setScriptExecutionDisabled", value=False)
                if screenshots:
                    browser.save_screenshot(screenshots / f"monitor-incident-{state}-{WIDE}.png", WIDE)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--goodput")
    parser.add_argument("--url")
    parser.add_argument("--job", default="job")
    parser.add_argument("--screenshots", type=Path)
    arguments, rest = parser.parse_known_args()
    global monitor, large, browser, screenshots
    screenshots = arguments.screenshots
    if screenshots:
        screenshots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            opened = Browser(folder)
        except Unavailable as reason:
            print(f"skipped: {reason}")
            return 1 if os.environ.get("GOODPUT_REQUIRE_BROWSER") else 77
        with contextlib.ExitStack() as stack:
            browser = stack.enter_context(opened)
            monitor = stack.enter_context(MonitoredJob(arguments, Path(folder), token=TOKEN))
            if not arguments.url:
                (Path(folder) / "large").mkdir()
                large = stack.enter_context(MonitoredJob(arguments, Path(folder) / "large", LARGE_PLAN, LARGE_STEPS))
            result = unittest.main(argv=[sys.argv[0], *rest], exit=False).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
