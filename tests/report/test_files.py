"""A file is written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ragledger.errors import ConfigError
from ragledger.report.files import write_whole


def test_a_new_file_is_private(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    write_whole(file, "né")
    assert file.read_bytes() == "né".encode()
    assert file.stat().st_mode & 0o777 == 0o600


def test_one_that_was_there_keeps_who_may_read_it(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.touch()
    file.chmod(0o644)
    write_whole(file, "new")
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("new", 0o644)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.html").symlink_to(tmp_path / "real" / "page.html")
    write_whole(tmp_path / "link.html", "new")
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "real" / "page.html").read_text() == "new"


def test_a_write_that_fails_leaves_what_was_there_and_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(file, "x" * 100_000 + "\ud800")
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]


@pytest.mark.parametrize("name", ["nowhere/page.html", "."])
def test_a_place_where_nothing_can_be_written_is_said(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        write_whole(tmp_path / name, "x")
    assert os.listdir(tmp_path) == []
