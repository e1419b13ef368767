"""Open every page of the built documentation in headless Chromium, on a desktop and on a phone.

    uv run --no-project --with playwright python tools/browse_docs.py SITE [--pictures FOLDER]

A page fails if it reports an error to the console, asks for something that is not there or comes from elsewhere, or has
to be scrolled sideways. Then the search is tried. The exit code is 1 if something failed.
"""

from __future__ import annotations

import argparse
import functools
import shutil
import sys
import tempfile
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Page, Request

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
# What somebody might look for, and a page that has to be among the first answers.
SEARCHES = {
    "to_numpy": "cunumpy.to_numpy",
    "cunumpy_block_sum_to": "headers/reduce",
    "page-locked": "memory",
    "race": "checking",
    "CUNUMPY_STRICT": "environment",
}
FIRST = 10
# Chromium asks for nothing but the site.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that logs nothing."""

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


def look_at(page: Page, base: str, name: str, picture: Path | None) -> list[str]:
    """Open a page and give what is wrong with it."""
    found: list[str] = []

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            found.append(f"console: {message.text}")

    def on_request(request: Request) -> None:
        if not request.url.startswith((base, "data:")):
            found.append(f"asks for {request.url}")

    page.on("console", on_console)
    page.on("request", on_request)
    page.on("pageerror", lambda error: found.append(f"error: {error}"))
    page.goto(base + name, wait_until="load")
    too_wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    if too_wide > 0:
        found.append(f"{too_wide} pixels wider than the window")
    if picture is not None:
        page.screenshot(path=str(picture), full_page=True)
    return found


def search(page: Page, base: str, words: str, expected: str) -> list[str]:
    """Search and give what is wrong with the answer."""
    page.goto(f"{base}search.html?q={words}", wait_until="load")
    page.wait_for_selector("#search-results ul.search li")
    page.wait_for_timeout(500)  # answers come one by one
    links = page.eval_on_selector_all("#search-results ul.search a", "found => found.map(a => a.getAttribute('href'))")
    if not any(expected in link for link in links[:FIRST]):
        return [f"{expected!r} is not among the first answers: {links[:FIRST]}"]
    return []


def main(arguments: list[str]) -> int:
    """Open all pages."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--pictures", type=Path, help="keep a picture of each page here")
    options = parser.parse_args(arguments)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("browse_docs: there is no chromium; on Debian: apt-get install chromium")
    names = sorted(str(file.relative_to(options.site)) for file in options.site.rglob("*.html"))
    names = [name for name in names if not name.startswith(("_static/", "_modules/"))]
    if not names:
        raise SystemExit(f"browse_docs: no pages in {options.site}")

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(options.site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}/"
    failed = 0
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as profile:
        for size, (width, height) in SIZES.items():
            browser = playwright.chromium.launch_persistent_context(
                str(Path(profile, size)),
                executable_path=chromium,
                args=ARGUMENTS,
                viewport={"width": width, "height": height},
            )
            for name in names:
                picture = None
                if options.pictures is not None:
                    picture = options.pictures / size / name.replace("/", "-").replace(".html", ".png")
                    picture.parent.mkdir(parents=True, exist_ok=True)
                page = browser.new_page()
                found = look_at(page, base, name, picture)
                page.close()
                failed += bool(found)
                for line in found:
                    print(f"{size}: {name}: {line}", flush=True)
            page = browser.new_page()
            for words, expected in SEARCHES.items():
                found = search(page, base, words, expected)
                failed += bool(found)
                for line in found:
                    print(f"{size}: search for {words}: {line}", flush=True)
            browser.close()
    server.shutdown()
    print(f"{len(names)} pages on {len(SIZES)} sizes of screens, {len(SEARCHES)} searches: {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
