"""draw.py CASE PICTURE [X0,X1,Z0,Z1]: a case of make.py migrated and by lsm run with its defaults, beside each other.

    bench/wave/run.sh draw.py marmousi-streamer marmousi.png
"""
import pathlib
import subprocess
import sys
import tempfile

import run


def main(case, picture, *window):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        images = [run.image(case, command, [], folder / f"{title}.h5") for command, title in (("migrate", "migrated"), ("run", "least-squares"))]
        more = ["--window", window[0]] if window else []
        subprocess.run([run.LSM, "plot", *images, *more, "--size", "4.2,1.9", "--force", "-o", picture], check=True)


main(*sys.argv[1:])
