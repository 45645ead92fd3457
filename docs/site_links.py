"""mkdocs hook: adds README.md, CONTRIBUTING.md and the list of formats to the site.

Links to other files of the repository, such as sources, become plain text.
"""

import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"README.md": "introduction.md", "CONTRIBUTING.md": "contributing.md"}  # file of the repository -> page of the site
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def on_config(config):
    formats = sorted((ROOT / "docs/formats").glob("*.md"), key=lambda path: (path.stem != "README", path.stem))
    config.nav.append({"File formats": [f"formats/{path.name}" for path in formats]})
    return config


def on_files(files, config):
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text()))
    return files


def on_page_markdown(markdown, page, config, files):
    source = next((name for name, to in PAGES.items() if to == page.file.src_uri), f"docs/{page.file.src_uri}")
    up = "../" * page.file.src_uri.count("/")

    def on_site(link):
        target = (ROOT / source).parent.joinpath(link[3]).resolve()
        if not target.is_relative_to(ROOT):
            return link[0]
        target = target.relative_to(ROOT).as_posix()
        name = PAGES.get(target) or target.removeprefix("docs/")
        file = files.get_file_from_path(name)
        if file and file.inclusion.is_included() and (target in PAGES or target.startswith("docs/")):
            return f"{link[1]}[{link[2]}]({up}{name}{link[4] or ''})"
        return link[2] if (ROOT / target).exists() else link[0]

    return LINK.sub(on_site, markdown)
