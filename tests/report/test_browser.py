"""The page in a real browser: it fits a phone, it has no errors, it loads nothing, and day and night look different."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.processes,
    pytest.mark.timeout(300),
    pytest.mark.skipif(BROWSER is None, reason="no chromium here: apt-get install chromium"),
]
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *(
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
    ),
    *("--hide-scrollbars", "--enable-logging=stderr"),
)
DARK, LIGHT = "0", "1"
WIDTHS = (320, 390, 700, 1280)
# The page in a frame of a given width, which is its viewport: a window of a browser has a least width of its own.
HARNESS = """<!doctype html><title>harness</title><pre id="found"></pre>
<iframe id="page" style="border:0;height:900px" srcdoc="{page}"></iframe>
<script>
const frame = document.getElementById("page");
const wide = (inside) => [...inside.querySelectorAll("body *")].filter((one) =>
  one.getBoundingClientRect().right > inside.defaultView.innerWidth + 1 && !one.closest(".scroll, nav, .theme, details:not([open])")
).map((one) => one.tagName + "." + one.className);
const seen = (inside, name) => inside.querySelectorAll(name).length
  && [...inside.querySelectorAll(name)].every((one) => one.getClientRects().length > 0);
const letters = (inside) => Math.min(...[...inside.querySelectorAll("svg text")].filter((one) => one.getClientRects().length)
  .map((one) => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a));
const ground = (inside) => getComputedStyle(inside.body).backgroundColor;
frame.addEventListener("load", () => {{
  const inside = frame.contentDocument, found = {{ widths: {{}}, grounds: {{}}, errors: [] }};
  inside.addEventListener("securitypolicyviolation", (one) => found.errors.push(one.violatedDirective));
  inside.querySelectorAll("details").forEach((one) => {{ one.open = true; }});
  for (const width of {widths}) {{
    frame.style.width = width + "px";
    found.widths[width] = {{
      inner: inside.defaultView.innerWidth, scroll: inside.documentElement.scrollWidth, wide: wide(inside),
      narrow: seen(inside, ".narrow"), letters: letters(inside),
    }};
  }}
  for (const name of ["auto", "light", "dark"]) {{
    inside.getElementById(name).checked = true;
    found.grounds[name] = ground(inside);
  }}
  found.loaded = inside.defaultView.performance.getEntriesByType("resource").map((one) => one.name);
  found.named = [...inside.querySelectorAll("[role=img], [role=region]")].every((one) => one.ariaLabel);
  found.articles = inside.querySelectorAll("article").length;
  document.getElementById("found").textContent = JSON.stringify(found);
}});
</script>
"""


def browse(*options: str) -> subprocess.CompletedProcess[str]:
    assert BROWSER is not None
    with tempfile.TemporaryDirectory() as profile:
        return subprocess.run(
            [BROWSER, *OPTIONS, f"--user-data-dir={profile}", *options],
            capture_output=True,
            text=True,
            timeout=200,
            check=True,
        )


def console(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.fixture(scope="module")
def found(full_page: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    harness = tmp_path_factory.mktemp("harness") / "harness.html"
    harness.write_text(HARNESS.format(page=html.escape(full_page), widths=list(WIDTHS)), encoding="utf-8")
    done = browse("--window-size=1400,1000", "--virtual-time-budget=10000", "--dump-dom", harness.as_uri())
    assert console(done) == []
    text = re.findall(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)[0]
    return json.loads(html.unescape(text))  # type: ignore[no-any-return]


@pytest.mark.parametrize("width", WIDTHS)
def test_it_fits_its_window_with_everything_unfolded(found: dict[str, Any], width: int) -> None:
    at = found["widths"][str(width)]
    assert at["inner"] == width
    assert at["wide"] == []
    assert at["scroll"] <= width
    assert at["letters"] >= (9 if width >= 390 else 7.5)


def test_a_phone_has_drawings_of_its_own(found: dict[str, Any]) -> None:
    assert found["widths"]["390"]["narrow"]
    assert not found["widths"]["1280"]["narrow"]


def test_nothing_is_loaded_nothing_is_refused_and_every_picture_has_words(found: dict[str, Any]) -> None:
    assert found["articles"] > 10
    assert (found["loaded"], found["errors"]) == ([], [])
    assert found["named"]


def test_the_reader_chooses_day_or_night_without_a_script(found: dict[str, Any]) -> None:
    grounds = found["grounds"]
    assert grounds["light"] != grounds["dark"]
    assert grounds["auto"] in {grounds["light"], grounds["dark"]}


@pytest.mark.parametrize(("scheme", "bright"), [(LIGHT, True), (DARK, False)])
def test_it_follows_the_systems_colours_and_is_not_blank(
    full_file: Path, tmp_path: Path, scheme: str, bright: bool
) -> None:
    shot = tmp_path / "shot.png"
    done = browse(
        "--window-size=1280,2400",
        f"--blink-settings=preferredColorScheme={scheme}",
        f"--screenshot={shot}",
        full_file.as_uri(),
    )
    assert console(done) == []
    with Image.open(shot) as image:
        grey = image.convert("L")
        middle = sorted(grey.resize((64, 64)).tobytes())[2048]
        assert (middle > 200) == bright
        assert (middle < 60) != bright
        assert len(image.convert("RGB").getcolors(1 << 24)) > 100
