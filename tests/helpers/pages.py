"""What the tests of reports share: a parsed page, and a headless browser that a page is opened in."""

import asyncio
import json
import re
import shutil
import subprocess
from base64 import b64decode
from contextlib import asynccontextmanager
from html import escape
from html.parser import HTMLParser

import pytest

SCRIPT, IMAGE = "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>'
"""Names of columns and classes that would run something if a page took them for markup."""

VOID = {"meta", "link", "br", "img", "input", "hr"}
PHONE, DESK = (390, 844), (1280, 900)
"""Widths and heights of a screen."""


class Page(HTMLParser):
    """All elements of a page with their attributes, and its text outside of script and style."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.text, self.open = [], [], []
        self.prose, self.visible, self.folded = [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            if tag == "details" and "open" not in dict(attrs):
                self.folded.append(len(self.open))
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if self.folded and self.folded[-1] == len(self.open):
            self.folded.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)
            if "svg" not in self.open:
                self.prose.append(data)
                if all(self.open[at + 1 : at + 2] == ["summary"] for at in self.folded):
                    self.visible.append(data)

    def values(self, *names):
        return [value for _, attributes in self.elements for name, value in attributes.items() if name in names]

    @property
    def words(self):
        return " ".join("".join(self.text).split())

    def require_sound(self):
        """Assert that elements are closed, ids unique, references resolved, nothing requested, nothing runs."""
        assert self.open == []
        ids = self.values("id")
        assert len(ids) == len(set(ids))
        references = [value[1:] for value in self.values("href") if value.startswith("#")]
        references += [part for value in self.values("aria-labelledby") for part in value.split()]
        clips = " ".join(value for value in self.values("clip-path", "style", "fill") if value)
        references += re.findall(r"url\(#([^)]*)\)", clips)
        assert references
        assert set(references) <= set(ids)
        for value in self.values("src", "href", "xlink:href", "srcset", "action", "poster"):
            assert value.startswith(("#", "data:")), value
        tags = [tag for tag, _ in self.elements]
        assert set(tags).isdisjoint({"iframe", "object", "embed", "base", "form", "img"})
        assert "script" not in tags
        assert not any(name.startswith("on") for _, attributes in self.elements for name in attributes)
        figures = [attributes for tag, attributes in self.elements if tag == "svg"]
        assert all(attributes["role"] == "img" and attributes["aria-labelledby"] for attributes in figures)


def leave_figures_unwritten(patch):
    """Draw the figures of pages, but leave out writing them to SVG, which takes most of the time."""
    import matplotlib.pyplot as plt

    def drawn_only(draw, name, title, description):
        plt.close(draw())
        words = '<title id="{0}-title">{1}</title><desc id="{0}-description">{2}</desc>'
        svg = f'<svg id="{{0}}" role="img" aria-labelledby="{{0}}-title {{0}}-description">{words}</svg>'
        return svg.format(*map(escape, (name, title, description)))

    patch.setattr("bayesclf.report.tree.svg", drawn_only)


class Tab:
    """An open page, driven by the browser's own protocol."""

    def __init__(self, socket):
        self._socket, self._number = socket, 0
        self.events = []

    async def call(self, method, **parameters):
        self._number += 1
        await self._socket.write_message(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(await self._socket.read_message())
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    async def evaluate(self, expression):
        result = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def of(self, method):
        return [event["params"] for event in self.events if event.get("method") == method]


@asynccontextmanager
async def opened(path, profile, size=DESK):
    """Open a file in a headless Chromium; skip where there is none."""
    from tornado.httpclient import AsyncHTTPClient
    from tornado.websocket import websocket_connect

    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    flags += [f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}", "--remote-debugging-port=0"]
    process = subprocess.Popen([chromium, *flags, "about:blank"], stderr=subprocess.PIPE, text=True)
    try:
        address = next(line.split()[-1] for line in process.stderr if "DevTools listening on" in line)
        targets = await AsyncHTTPClient().fetch(f"http://{address.split('/')[2]}/json")
        page = next(target for target in json.loads(targets.body) if target["type"] == "page")
        socket = await websocket_connect(page["webSocketDebuggerUrl"], max_message_size=2**28)
        tab = Tab(socket)
        for domain in ("Page", "Network", "Runtime", "Log"):
            await tab.call(f"{domain}.enable")
        await tab.call(
            "Emulation.setDeviceMetricsOverride",
            width=size[0],
            height=size[1],
            deviceScaleFactor=1,
            mobile=size == PHONE,
        )
        await tab.call("Page.navigate", url=path.as_uri())
        while await tab.evaluate("document.readyState") != "complete":
            await asyncio.sleep(0.05)
        yield tab
        socket.close()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


ANCHORS = """
[...document.querySelectorAll('a[href^="#"]')].map((link) => link.hash)
  .filter((hash) => !document.getElementById(hash.slice(1)))
"""

WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
"""By how many pixels the page is wider than the screen."""


def require_pleasant(path, folder, printed=1):
    """Assert that a page opens from disk without complaint or request, resolves, and fits a phone and paper."""

    async def look(size):
        async with opened(path, folder / f"profile-{size[0]}", size) as tab:
            requested = [event["request"]["url"] for event in tab.of("Network.requestWillBeSent")]
            assert all(url == path.as_uri() or url.startswith("data:") for url in requested), requested
            assert tab.of("Runtime.exceptionThrown") == []
            assert tab.of("Runtime.consoleAPICalled") == []
            assert tab.of("Log.entryAdded") == []
            assert tab.of("Page.javascriptDialogOpening") == []
            assert await tab.evaluate(ANCHORS) == []
            assert await tab.evaluate(WIDER) <= 0
            assert size != DESK or await tab.evaluate("document.documentElement.scrollHeight") <= 4000
            assert await tab.evaluate("document.querySelectorAll('script').length") == 0
            pdf = await tab.call("Page.printToPDF")  # what is folded is not printed
            assert len(re.findall(rb"/Type /Page\b", b64decode(pdf["data"]))) <= printed

    for size in (DESK, PHONE):
        asyncio.run(look(size))
