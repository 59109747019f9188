"""PyLops' source package, which has its tests and tutorials. pip fetches it into python/build."""

import subprocess
import sys
import tarfile
from pathlib import Path

VERSION = "2.8.0"
BUILD = Path(__file__).parent / "build"


def fetch(*names):
    """The folder with the files of these names. Raises OSError where pip cannot fetch them."""
    folder = BUILD / f"pylops-{VERSION}"
    if not all((folder / name).exists() for name in names):
        pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]
        got = subprocess.run([*pip, "--no-binary", "pylops", "-d", BUILD, f"pylops=={VERSION}"], capture_output=True, text=True)
        if got.returncode:
            raise OSError(f"pip cannot fetch PyLops' source package: {got.stderr.strip()[-200:]}")
        with tarfile.open(BUILD / f"pylops-{VERSION}.tar.gz") as package:
            for name in names:  # extractall knows no filter before Python 3.11.4
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(package.extractfile(f"{folder.name}/{name}").read())
    return folder
