"""run.py [CASE...]: what lsm's images of the finite-difference data of make.py are worth; all cases without arguments.

    v/bin/python bench/wave/run.py marmousi-fixed salt

Prints a Markdown table of cases and methods: the score of score.py, balanced and raw. Cases that are missing are made
(minutes each) in the folder LSM_WAVE (~/.cache/lsm/wave), where they stay; images are made anew. LSM names the program
(bin/lsm of this repository), v is the environment of make.py.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import make
import score

# Settings of all methods, and for each method its command and further settings.
ALL = ["kirchhoff.wavelet_filter=on", "kirchhoff.dynamic=true", "kirchhoff.spreading=ray"]
METHODS = {
    "migrate": ("migrate", []),
    "run": ("run", []),
    "run, 3 iterations": ("run", ["solver.iterations=3"]),
    "run, damped": ("run", ["solver.penalty_scale=relative", "solver.damping=0.1"]),
}

HERE = pathlib.Path(__file__).resolve().parent
LSM = os.environ.get("LSM", str(HERE.parents[1] / "bin/lsm"))
CACHE = pathlib.Path(os.environ.get("LSM_WAVE", "~/.cache/lsm/wave")).expanduser()


def image(case, command, settings, path):
    line = [LSM, command, str(CACHE / case / "config.toml"), "--quiet", "-o", str(path)]
    for s in ALL + settings:
        line += ["--set", s]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(line)}: status {done.returncode}\n{done.stderr}")


def main(cases):
    unknown = [c for c in cases if c not in make.CASES]
    if unknown:
        raise SystemExit(f"unknown: {', '.join(unknown)}; cases are {', '.join(make.CASES)}")
    cases = cases or list(make.CASES)
    missing = [c for c in cases if not (CACHE / c / "config.toml").exists()]
    if missing:
        subprocess.run([sys.executable, HERE / "make.py", *missing, "-o", CACHE], check=True, stdout=sys.stderr)
    print("| case | " + " | ".join(METHODS) + " |")
    print("|---|" + "---|" * len(METHODS))
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            cells = []
            for i, (command, settings) in enumerate(METHODS.values()):
                path = pathlib.Path(folder) / f"{i}.h5"
                image(case, command, settings, path)
                whole, raw, _, _ = score.score(CACHE / case / "truth.h5", path)
                cells.append(f"{whole:.3f} / {raw:.3f}")
                path.unlink()
            print(f"| {case} | " + " | ".join(cells) + " |", flush=True)


main(sys.argv[1:])
