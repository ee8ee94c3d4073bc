"""What the pages of a built site load and link to, and what is loaded from elsewhere; Sphinx checks inner links."""

import re
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

LOADS = {
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("video", "src"),
    ("audio", "src"),
} | {
    *(("embed", "src"), ("object", "data"), ("image", "href"), ("image", "xlink:href"), ("use", "href")),
    *(("img", "srcset"), ("source", "srcset"), ("input", "src"), ("video", "poster")),
}
"""Elements and attributes by which a page loads something; `<link>` depends on its relation."""
NOT_LOADED = {"canonical", "next", "prev", "search", "index", "author", "genindex", "license", "alternate"}
"""Relations of `<link>` that only say where something is."""
URL = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


def remote(address: str) -> bool:
    """Whether an address leads out of the folder."""
    return bool(urlsplit(address).netloc) or urlsplit(address).scheme in ("http", "https", "ftp")


@dataclass
class Page(HTMLParser):
    """One page: what it loads, and what it links to."""

    path: Path
    loads: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._in_style = False
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note what an element loads or names."""
        values = {name: value or "" for name, value in attributes}
        self._in_style = tag == "style"
        self.loads += [values[name] for name in values if (tag, name) in LOADS]
        self.loads += [address for pair in URL.findall(values.get("style", "")) for address in pair if address]
        if tag == "link" and not NOT_LOADED & set(values.get("rel", "").split()):
            self.loads.append(values.get("href", ""))
        if tag == "a" and "href" in values:
            self.links.append(values["href"])

    def handle_data(self, data: str) -> None:
        """Note what a style sheet within the page loads."""
        if self._in_style:
            self.loads += [address for pair in URL.findall(data) for address in pair if address]


@dataclass
class Site:
    """A folder of pages."""

    folder: Path

    @cached_property
    def pages(self) -> dict[Path, Page]:
        """All pages by their path; a theme's templates among its static files are not pages."""
        folder = self.folder.resolve()
        return {
            path: Page(path) for path in sorted(folder.rglob("*.html")) if not path.is_relative_to(folder / "_static")
        }

    def loaded_from_elsewhere(self) -> list[str]:
        """Return what pages and style sheets load from other places than the folder."""
        found = [
            f"{path.name}: {address}" for path, page in self.pages.items() for address in page.loads if remote(address)
        ]
        for sheet in sorted(self.folder.rglob("*.css")):
            text = sheet.read_text(encoding="utf-8")
            found += [f"{sheet.name}: {address}" for pair in URL.findall(text) for address in pair if remote(address)]
        return found
