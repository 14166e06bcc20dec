"""The page says what it must, holds nothing that runs or loads, and is the same every time."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path

import matplotlib as mpl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report.conftest import NASTY
from report.pictures import START, nothing_of, picture, rows_of, unknowns_of

from ragledger.panels import dashboards
from ragledger.panels.panel import NOT_MEASURED, Panel
from ragledger.report.cards import card
from ragledger.report.lines import Axis
from ragledger.report.markup import NBSP, plain, tag
from ragledger.report.numbers import shown
from ragledger.report.page import page
from ragledger.report.palette import style_sheet
from ragledger.report.picture import Shown

PANELS = [(board, panel) for board in dashboards() for panel in board.panels()]
AXIS = Axis(picture().time_range, "day", ())
TIME_SERIES = next(panel for _, panel in PANELS if panel.kind == "timeseries" and panel.largest)
VOID = {"meta", "link", "input", "br"}


class Read(HTMLParser):
    """The elements of a page, checked to be nested rightly, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(key, given or "") for key, given in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(key, given or "") for key, given in attrs]

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def values(self, name: str) -> list[str]:
        return [given for key, given in self.attributes if key == name]


@pytest.fixture(scope="module")
def read(full_page: str) -> Read:
    return Read(full_page)


# --- what it says -------------------------------------------------------------------------------------------


def test_every_panel_is_there_with_how_to_read_it(read: Read) -> None:
    text = "".join(read.words)
    for _, panel in PANELS:
        assert panel.title in text
        for words in (panel.reading.shows, panel.reading.good, panel.reading.bad, panel.reading.do):
            assert words.replace("`", "") in text
    assert read.tags["article"] == len(PANELS) == text.count("How to read this")
    assert read.tags["h2"] == len(dashboards()) + 1


def test_it_says_when_it_was_made_of_what_and_that_it_holds_no_text(read: Read) -> None:
    text = " ".join(read.words)
    for words in (
        "2026-03-01 00:00 to 2026-03-31 00:00",
        "Made 2026-03-31 00:00",
        "Counted until 2026-03-30 00:00",
        "by day, whole ones",
        "human, hits up to rank 5",
        "no question, no passage and no exception message",
    ):
        assert words in text


def test_p12_a_number_stands_with_its_n_and_its_interval(read: Read) -> None:
    text = " ".join(read.words)
    assert f"n{NBSP}={NBSP}" in text
    assert "20.0 to 80.0%" in text
    assert "95% interval" in text
    drawn = [panel for _, panel in PANELS if panel.kind == "timeseries" and len(panel.columns) > 2]
    assert len([panel for panel in drawn if any(c.style == "support" for c in panel.columns)]) >= 6


def test_what_waits_for_the_collector_is_said() -> None:
    text = page(picture(nothing_of, behind=7, minutes_waiting=1200, days_waiting=1))
    assert "(records that arrived: 7, minutes of searches: 1,200, days of documents: 1)" in text
    assert "Not counted yet (minutes of searches: 2)" in page(picture(nothing_of, minutes_waiting=2))
    assert "Not counted yet" not in page(picture(nothing_of))


@pytest.mark.parametrize("rows", [nothing_of, unknowns_of])
def test_p8_what_is_not_known_is_said_and_never_zero(rows: object) -> None:
    made = page(picture(rows))  # type: ignore[arg-type]
    assert "<svg" not in made
    cards = re.findall(r"<article.*?</article>", made, re.DOTALL)
    assert len(cards) == len(PANELS)
    for (_, panel), content in zip(PANELS, cards, strict=True):
        shown_part = content.partition("<footer>")[0]
        says = NOT_MEASURED if rows is unknowns_of else panel.empty
        assert says in shown_part or not any(c.unit not in {"text", "time"} for c in panel.columns)
        assert not re.search(r">\s*0", shown_part)
    assert made.count(f'<dd class="unknown">{NOT_MEASURED}</dd>') >= 3


def test_of_many_changes_the_latest_are_drawn_and_the_rest_counted() -> None:
    made = page(picture(nothing_of, changes=40))
    assert "changed 39" in made
    assert "changed 27" not in made
    assert "The latest 12 changes; 28 older ones are left out." in made


@pytest.mark.parametrize(
    ("given", "unit", "reads"),
    [
        (None, "count", NOT_MEASURED),
        (None, "text", "not known"),
        (0.0, "count", "0"),
        (1234.0, "count", "1,234"),
        (1.5, "count", "1.5"),
        (0.9612, "share", "96.1%"),
        (0.5, "score", "0.500"),
        (0.02, "ms", "< 0.1 ms"),
        (12.34, "ms", "12.3 ms"),
        (1234.0, "ms", "1,234 ms"),
        (12_345.0, "ms", "12.3 s"),
        (59.0, "seconds", "59 s"),
        (3600.0, "seconds", "1 h"),
        (90_061.0, "seconds", "1 d 1 h"),
        (150.0, "seconds", "2 min"),
        (1536.0, "bytes", "1.5 KiB"),
        (START, "time", "2026-03-01 00:00"),
    ],
)
def test_a_value_reads_as_its_unit(given: object, unit: str, reads: str) -> None:
    assert shown(given, unit) == reads  # type: ignore[arg-type]


# --- what it holds ------------------------------------------------------------------------------------------


def test_nothing_runs_and_nothing_is_loaded(full_page: str, read: Read) -> None:
    assert read.tags["script"] == read.tags["img"] == read.tags["iframe"] == read.tags["style"] - 1 == 0
    assert [key for key, _ in read.attributes if key.startswith("on") or key in {"src", "srcset"}] == []
    assert {given[0] for given in read.values("href")} == {"#", "d"}
    assert "http" not in re.sub(r'http-equiv="', "", full_page)
    assert re.findall(r"url\((?!#)|@import", full_page) == []
    policy = next(given for given in read.values("content") if given.startswith("default-src"))
    assert "default-src 'none'" in policy
    assert "script-src" not in policy


def test_names_from_the_application_are_text(full_page: str, read: Read) -> None:
    text = " ".join(read.words)
    assert "<script>alert(1)</script> $a$ \"'& 検索" in text
    assert "\u202e" not in full_page
    assert "\x07" not in full_page
    assert plain(NASTY) in text


@given(st.text())
def test_any_text_stays_text(text: str) -> None:
    made = Read(tag("p", text, title=text))
    assert made.tags == {"p": 1}
    assert "".join(made.words) == plain(text) == made.values("title")[0]


def test_ids_are_there_once_and_every_reference_leads_somewhere(full_page: str, read: Read) -> None:
    ids = read.values("id")
    assert len(ids) == len(set(ids))
    led = {given[1:] for given in read.values("href") if given.startswith("#")}
    led |= set(re.findall(r"url\(#([^)]+)\)", full_page)) | set(read.values("for"))
    assert led <= set(ids)


def test_colours_are_variables_that_the_page_has_by_day_and_by_night(full_page: str) -> None:
    sheet = style_sheet()
    used = set(re.findall(r"var\(--([\w-]+)\)", full_page)) - {"c", "w"}
    for name in used:
        assert sheet.count(f"--{name}:") == 5, name
    drawings = "".join(re.findall(r"<svg.*?</svg>", full_page, re.DOTALL))
    assert re.findall(r"#[0-9a-f]{6}", drawings) == []


@pytest.mark.parametrize("name", ["ink", "quiet"])
def test_words_stand_out_from_their_ground_by_day_and_by_night(name: str) -> None:
    """WCAG's 4.5 to 1."""
    schemes = re.findall(r"\{([^{}]*)color-scheme:(?:light|dark)", style_sheet())
    assert len(schemes) == 5
    for scheme in schemes:
        for ground in ("ground", "card", "shade"):
            first, second = (luminance(scheme, one) for one in (name, ground))
            assert (max(first, second) + 0.05) / (min(first, second) + 0.05) >= 4.5


def luminance(sheet: str, name: str) -> float:
    code = re.findall(rf"--{name}:#(\w{{6}})", sheet)[0]
    parts = [int(code[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


# --- how it is drawn ----------------------------------------------------------------------------------------


def drawn(panel: Panel, axis: Axis = AXIS) -> str:
    return card(Shown(panel=panel, rows=rows_of(panel)), axis, "one")


def test_an_unknown_bucket_is_a_gap_in_the_line() -> None:
    """Of thirty points two are unknown, with one between them: three parts, the middle one a point."""
    svg = re.findall(r"<svg.*?</svg>", drawn(TIME_SERIES), re.DOTALL)[0]
    lines = re.findall(r'<path d="([^"]+)"[^>]*fill: none[^>]*stroke-width: 2[;"]', svg)
    assert len(lines) == 1
    assert [part.count("L") for part in lines[0].split("M")[1:]] == [9, 0, 16]


def test_the_users_own_settings_and_earlier_drawings_change_nothing() -> None:
    first = drawn(TIME_SERIES)
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": None}):
        assert drawn(TIME_SERIES) == first


def test_a_time_in_another_zone_is_drawn_at_the_same_place() -> None:
    from datetime import timezone

    rows = [(row[0].astimezone(timezone(timedelta(hours=-7))), *row[1:]) for row in rows_of(TIME_SERIES)]
    assert re.findall(r"<svg.*?</svg>", card(Shown(panel=TIME_SERIES, rows=tuple(rows)), AXIS, "one")) == (
        re.findall(r"<svg.*?</svg>", drawn(TIME_SERIES))
    )


def test_the_page_is_not_large(full_page: str) -> None:
    assert len(full_page.encode()) < 1_500_000


@pytest.mark.processes
def test_the_same_values_give_the_same_bytes_in_any_process(full_page: str, tmp_path: Path) -> None:
    program = (
        "import sys; from report.conftest import NASTY; from report.pictures import picture\n"
        "from ragledger.report.page import page\n"
        "sys.stdout.buffer.write(page(picture(name=NASTY)).encode())"
    )
    made = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": "tests", "PYTHONHASHSEED": "77", "HOME": str(tmp_path), "TZ": "Asia/Tokyo"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=True,
        timeout=100,
    )
    assert made.stdout == full_page.encode()
    assert made.stderr == b""
