"""What all tests of pages share: the browser, the pages, and ways to ask and to touch them."""

import results
from browser import Browser

WIDE, NARROW = 1280, 380

world = None  # set by page_test.py, once


class World:
    """The browser, and a page of each kind of result."""

    def __init__(self, goodput, folder, screenshots):
        self.folder, self.screenshots = folder, screenshots
        self.pages = results.make_pages(goodput, folder)
        self.browser = Browser(folder)

    def open(self, name, width=WIDE, theme="light"):
        self.browser.show(width, theme)
        self.browser.open(self.pages[name])
        return self.browser


def open_page(name, **how):
    return world.open(name, **how)


def text_of(selector):
    return world.browser.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)


def press(selector, keys):
    """Focuses the first such element and presses keys there."""
    from selenium.webdriver.common.by import By
    element = world.browser.driver.find_element(By.CSS_SELECTOR, selector)
    element.send_keys(keys)


def point_at(selector, x, y):
    """Moves the mouse to (x, y) within the first such element."""
    world.browser.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
    box = world.browser.run("const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.left, b.top]",
                            selector)
    world.browser.command("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + x, y=box[1] + y)


def read_off(title, keys):
    """What the chart whose title begins so says after these keys."""
    world.browser.run("""
        const caption = [...document.querySelectorAll("figcaption")].find((one) => one.textContent.startsWith(arguments[0]));
        document.getElementById("asked")?.removeAttribute("id");
        caption.parentElement.querySelector(".drawing").id = "asked";""", title)
    press("#asked", keys)
    return world.browser.run("return document.querySelector('#asked').parentElement.querySelector('output').textContent")


def rows_of(title):
    """The cells of the table of this name, row by row; a table behind a chart is opened first."""
    return world.browser.run_async("""
        const summary = [...document.querySelectorAll("summary")].find((one) => one.textContent === `Table: ${arguments[0]}`);
        if (summary && !summary.parentElement.open) summary.click();
        const title = arguments[0];
        setTimeout(() => {
          const table = [...document.querySelectorAll("table")].find((one) => one.caption.textContent === title);
          done([...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)));
        }, 50);""", title)
