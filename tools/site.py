"""A hook of mkdocs: builds the page of the matrix, the list of bugs, a page for each fix and the messages."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

_CATALOG = "<!-- catalog -->"
_TABLES = ("names.md", "signatures.md", "working.md", "deviations.md", "reading.md", "remote-code.md")
_catalog: list[str] = []  # the HTML, for the page that is rendered later


def on_files(files: Any, *, config: Any) -> Any:
    """Add ``matrix.html`` and the pages of the fixes to the files of the site."""
    from mkdocs.structure.files import File

    sys.path.insert(0, str(Path(config.config_file_path).resolve().parent))  # mkdocs loads this file by its path
    from tools import fix_pages, page, pages

    text, problems = page.made()
    source = pages.read(problems.append)
    if problems:
        raise ValueError("; ".join(problems))
    files.append(File.generated(config, "matrix.html", content=text))
    for path, markdown in fix_pages.pages(source):
        files.append(File.generated(config, path, content=markdown))
    files.append(File.generated(config, f"{fix_pages.FOLDER}/messages.json", content=fix_pages.messages()))
    _catalog[:] = [fix_pages.catalog(source)]
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Turn links to reports to the fixes' own pages, and the reports on one page to the list of bugs."""
    from tools import fix_pages

    if page.file.src_uri in _TABLES:  # they have the words of many errors, and nothing about any
        page.meta.setdefault("search", {"boost": 0.3})
    if page.file.src_uri == "fixes.md":
        return re.sub(r"<!-- generated: reports -->.*<!-- end: reports -->", _CATALOG, markdown, flags=re.S)
    return markdown if page.file.src_uri.startswith("fixes/") else fix_pages.with_links_to_pages(markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Put the list of bugs where its page has room for it."""
    return html.replace(_CATALOG, "".join(_catalog)) if _CATALOG in html else html
