"""A headless Chromium for tests of pages, with what it is asked and what it complains about.

    with Browser() as browser:
        browser.open(path)
        browser.run("return document.title")

It needs Debian's chromium, chromium-driver and python3-selenium, and axe.min.js, which goodput-setup --dev puts into
.venv; without one of them Unavailable says which.
"""

import json
import os
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
AXE = "lib/python*/site-packages/axe_playwright_python/axe.min.js"


class Unavailable(Exception):
    """There can be no browser here; the text says what is needed."""


def axe_script():
    found = sorted((ROOT / ".venv").glob(AXE))
    if not found:
        raise Unavailable("no axe.min.js in .venv; ./goodput-setup --dev puts it there")
    return found[0].read_text(encoding="utf-8")


def require_browser():
    missing = [program for program in ("chromium", "chromedriver") if not shutil.which(program)]
    if missing:
        raise Unavailable(f"no {', '.join(missing)}; Debian has them in chromium and chromium-driver")
    try:
        import selenium  # noqa: F401: only whether it is there
    except ImportError:
        raise Unavailable("no selenium for this Python; Debian has it in python3-selenium") from None


class Browser:
    """One browser for many pages. `folder` takes what pages save."""

    def __init__(self, folder):
        require_browser()
        self.axe = axe_script()
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                         f"--user-data-dir={folder}/profile"):
            options.add_argument(argument)
        if os.getuid() == 0:
            options.add_argument("--no-sandbox")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.driver.set_script_timeout(30)
        self.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def command(self, name, **arguments):
        return self.driver.execute_cdp_cmd(name, arguments)

    def show(self, width, theme):
        """From now on a window of this width, and a system with this theme."""
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def open(self, path):
        self.requests()
        self.messages()
        self.driver.get(Path(path).resolve().as_uri())

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def run_async(self, script, *arguments):
        """`script` calls done(value)."""
        return self.driver.execute_async_script(f"const done = arguments[arguments.length - 1]; {script}", *arguments)

    def messages(self):
        """What the console says since it was asked last."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """The addresses that were asked for since then."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found

    def violations(self):
        """What axe finds serious or critical: rule and element."""
        self.run(self.axe + "\nwindow.axe = axe;")
        found = self.run_async("axe.run(document, {resultTypes: ['violations']}).then((r) => done(r.violations));")
        return [f"{one['id']}: {node['html'][:160]}" for one in found if one["impact"] in ("serious", "critical")
                for node in one["nodes"]]

    def save_screenshot(self, path, width):
        height = self.run("return document.documentElement.scrollHeight")
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=min(height, 8000), deviceScaleFactor=1,
                     mobile=False)
        self.driver.save_screenshot(str(path))
