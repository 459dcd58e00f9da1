"""A reader finds a file complete, or as it was before."""

from __future__ import annotations

import os

import pytest

from hotfix.reports import files


@pytest.fixture
def held(monkeypatch):
    """Another process reads the file: Windows refuses the first two attempts to replace it."""
    refused: list[tuple[object, ...]] = []
    replace = os.replace

    def refusing(*paths):
        if len(refused) < 2:
            refused.append(paths)
            raise PermissionError("somebody reads it")
        replace(*paths)

    monkeypatch.setattr(files.os, "replace", refusing)
    return refused


def test_on_windows_a_file_that_somebody_reads_is_replaced_a_little_later(tmp_path, monkeypatch, held):
    monkeypatch.setattr(files, "_WINDOWS", True)
    files.write_whole(tmp_path / "record.json", "{}")
    assert (tmp_path / "record.json").read_text() == "{}"
    assert len(held) == 2


def test_elsewhere_a_refusal_is_one(tmp_path, held):
    with pytest.raises(PermissionError):
        files.write_whole(tmp_path / "record.json", "{}")
    assert len(held) == 1
    assert list(tmp_path.iterdir()) == []
