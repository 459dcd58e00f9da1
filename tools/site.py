"""A hook of mkdocs: builds the page of the matrix with the site, from the evidence and the results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any


def on_files(files: Any, *, config: Any) -> Any:
    """Add ``matrix.html`` to the files of the site."""
    from mkdocs.structure.files import File

    sys.path.insert(0, str(Path(config.config_file_path).resolve().parent))  # mkdocs loads this file by its path
    from tools import page

    text, problems = page.made()
    if problems:
        raise ValueError("; ".join(problems))
    files.append(File.generated(config, "matrix.html", content=text))
    return files
