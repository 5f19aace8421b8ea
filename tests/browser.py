"""A real browser for tests: Debian's chromium, driven by selenium. Where there is none, its tests are skipped."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest

FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --disable-dev-shm-usage --window-size=1440,1000""".split()
PATIENCE_SECONDS = 600.0
"""Until a page does what it should; compiling is in it."""


class Page:
    """A tab."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, address: str) -> None:
        self.driver.get(address)
        self.until("drawn", lambda drawn: drawn is not None)

    def __getitem__(self, name: str) -> str | None:
        """What the page says of the moment it shows: index, length, clock, phase, outcome …"""
        return self.driver.execute_script("return document.body.dataset[arguments[0]] ?? null", name)

    def until(self, name: str, holds: Any) -> None:
        ends = time.monotonic() + PATIENCE_SECONDS
        while not holds(self[name]):
            assert time.monotonic() < ends, f"{name} is {self[name]!r}; the page says {self.text('toast')!r}"
            time.sleep(0.01)

    def find(self, id: str) -> Any:
        return self.driver.find_element("id", id)

    def text(self, id: str) -> str:
        return self.driver.execute_script("return document.getElementById(arguments[0]).textContent", id)

    def click(self, id: str) -> None:
        self.driver.execute_script("document.getElementById(arguments[0]).click()", id)

    def choose(self, id: str, value: str) -> None:
        """Pick from a list, or fill in, as a person would."""
        script = "const x = document.getElementById(arguments[0]); x.value = arguments[1];"
        self.driver.execute_script(script + "x.dispatchEvent(new Event('change'))", id, value)

    def picture(self, id: str) -> Any:
        """Natural width and height of a picture that was drawn."""
        script = "const x = document.getElementById(arguments[0]); return [x.naturalWidth, x.naturalHeight]"
        return self.driver.execute_script(script, id)

    def errors(self) -> list[str]:
        return [line["message"] for line in self.driver.get_log("browser") if line["level"] == "SEVERE"]


def start(profile: Path) -> Page:
    """A browser with one empty tab; skips the test where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("no browser here: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    return Page(webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver)))
