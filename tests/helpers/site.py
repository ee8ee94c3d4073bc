"""What the pages of a built site load and link to, and what of it is not in its folder."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

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
    """One page: its anchors, what it loads, and what it links to."""

    path: Path
    ids: set[str] = field(default_factory=set)
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
        self.ids |= {values[name] for name in ("id", "name") if values.get(name) and (name == "id" or tag == "a")}
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

    def dead(self) -> list[str]:
        """Return links and loaded files, within the folder, that lead nowhere."""
        return [
            f"{path.relative_to(self.folder.resolve())}: {link}"
            for path, link in self._inner()
            if self._dead(path, link)
        ]

    def _inner(self) -> Iterator[tuple[Path, str]]:
        for path, page in self.pages.items():
            for link in dict.fromkeys([*page.links, *page.loads]):
                if not remote(link) and urlsplit(link).scheme in ("", "file"):
                    yield path, link

    def _dead(self, path: Path, link: str) -> bool:
        parts = urlsplit(link)
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if not target.is_file() or not target.is_relative_to(self.folder.resolve()):
            return True
        anchor = unquote(parts.fragment)
        return bool(anchor) and target in self.pages and anchor not in self.pages[target].ids
