"""run.py [CASE...]: what lsm's images of the finite-difference data of make.py are worth; all cases without arguments.

    bench/wave/run.sh marmousi-fixed salt      # or make bench-wave CASES='marmousi-fixed salt'

Prints a Markdown table of cases and methods: the score of score.py, balanced and raw. Cases that are missing are made
(minutes each) in the folder LSM_WAVE (~/.cache/lsm/wave), where they stay; images are made anew. The Marmousi cases need the
file that LSM_MARMOUSI names, and are left out without it. LSM names the program (bin/lsm of this repository).
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
    "run, damped": ("run", ["solver.penalty_scale=relative", "solver.damping=0.3"]),
    "run, band": ("run", ["solver.band=true", "solver.penalty_scale=relative", "solver.damping=0.3", "solver.iterations=8"]),
    "run, band, 20 iterations": ("run", ["solver.band=true", "solver.penalty_scale=relative", "solver.damping=0.3"]),
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
    known = os.path.exists(make.MARMOUSI)
    cases = cases or [c for c in make.CASES if known or not c.startswith("marmousi") or (CACHE / c / "config.toml").exists()]
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
