"""Runs the tests on every supported Python that is found on this machine; `make test-all` calls it."""

from __future__ import annotations

import glob
import re
import shutil
import subprocess
import sys
from pathlib import Path

SUPPORTED = [f"3.{minor}" for minor in range(10, 15)]


def find() -> dict[str, str]:
    """A path for each supported version: on PATH, or where pyenv and uv keep theirs."""
    found = {version: path for version in SUPPORTED if (path := shutil.which(f"python{version}"))}
    places = ("~/.pyenv/versions/*/bin/python3.*", "~/.local/share/uv/python/*/bin/python3.*")
    for place in places:
        for path in sorted(glob.glob(str(Path(place).expanduser()))):
            match = re.fullmatch(r"python(3\.\d+)", Path(path).name)
            if match and match[1] in SUPPORTED:
                found.setdefault(match[1], path)
    return found


def main() -> int:
    interpreters = find()
    failed = []
    for version, path in sorted(interpreters.items(), key=lambda item: SUPPORTED.index(item[0])):
        print(f"== Python {version}", flush=True)
        made = [
            "make",
            f"VENV=.venv-{version}",
            f"PYTHON={path}",
            f"WORKERS={sys.argv[1]}",
            "test",
            "test-processes",
        ]
        if subprocess.run(made, check=False).returncode != 0:
            failed.append(version)
    missing = [version for version in SUPPORTED if version not in interpreters]
    print(f"passed: {', '.join(v for v in interpreters if v not in failed) or 'none'}")
    print(f"failed: {', '.join(failed) or 'none'}; not found here: {', '.join(missing) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
