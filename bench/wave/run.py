"""run.py [--tried | --arrivals | --sparse | --wavelet] [CASE...]: what lsm's images of the finite-difference data of make.py are worth; without arguments all cases but `lens` and `small-lens`.

    bench/wave/run.sh marmousi-fixed salt      # or make bench-wave CASES='marmousi-fixed salt'

Prints a Markdown table of cases and METHODS, or with --tried of TRIED, with --arrivals of ARRIVALS, with --sparse of SPARSE on every fourth trace of each shot, with --wavelet of migrate and run by the wavelet that lsm wavelet estimates: the score of score.py, balanced and raw, and for `HALVES` how like each
other images of the survey's odd and even shots are. Cases that are missing are made (minutes each) in the folder LSM_WAVE
(~/.cache/lsm/wave), where they stay; images are made anew. The Marmousi cases need the file that LSM_MARMOUSI names, and are
left out without it. So is viking, four recorded shots without a truth, without LSM_VIKING, the folder that
tutorials/marine-line/run.sh has left with them. LSM names the program (bin/lsm of this repository).
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import h5py
import make
import numpy as np
import score

# For each method its command and settings besides file names, offsets and mute.
METHODS = {
    "migrate": ("migrate", []),
    "run": ("run", []),
    "4 iterations": ("run", ["solver.iterations=4"]),
    "40 iterations": ("run", ["solver.iterations=40"]),
    "matching": ("run", ["solver.method=matching"]),
    "no coherence weights": ("run", ["data.weights=none"]),
    "no band": ("run", ["solver.band=false"]),
    "plain, 20 iterations": ("run", ["data.weights=none", "solver.band=false", "solver.damping=0.0", "solver.iterations=20"]),
    "halves": ("run", ["image.halves=true"]),
    "halves, filtered": ("run", ["image.halves=true", "output.filter=agreement"]),
    "migrate, angles": ("migrate", ["kirchhoff.angle_limit=45,60"]),
    "run, angles": ("run", ["kirchhoff.angle_limit=45,60"]),
}
# What does not pay, or hardly: run.py --tried.
TRIED = {
    "migrate": METHODS["migrate"],
    "run": METHODS["run"],
    "dip": ("run", ["solver.regularization=dip", "solver.regularization_weight=0.3"]),
    "antialias": ("run", ["kirchhoff.antialias=triangle"]),
    "whiten": ("run", ["data.whiten=0.2"]),
    **{f"undamped, {n}": ("run", ["solver.damping=0", f"solver.iterations={n}"]) for n in (4, 8, 20)},
    **{f"plain, {n}": ("run", ["solver.damping=0", "data.weights=none", "solver.band=false", f"solver.iterations={n}"]) for n in (4, 8)},
}
# Several arrivals: run.py --arrivals.
ARRIVALS = {
    f"{command}, {name}": (command, keys)
    for command in ("migrate", "run")
    for name, keys in {"first": [], **{n: ["traveltime.method=rays", f"traveltime.arrivals={n}"] for n in ("strongest+first", "3+first")}}.items()
}
# Every fourth trace of each shot, with and without anti-aliasing: run.py --sparse.
SPARSE = {
    f"{command}{', antialias' * bool(keys)}": (command, keys)
    for command in ("migrate", "run")
    for keys in ([], ["kirchhoff.antialias=triangle"])
}
HALVES = ["migrate", "run"]

HERE = pathlib.Path(__file__).resolve().parent
LSM = os.environ.get("LSM", str(HERE.parents[1] / "bin/lsm"))
CACHE = pathlib.Path(os.environ.get("LSM_WAVE", "~/.cache/lsm/wave")).expanduser()


def place(case):
    """The folder of a case."""
    return pathlib.Path(os.environ["LSM_VIKING"]).absolute() if case == "viking" else CACHE / case


def image(case, command, settings, path):
    line = [LSM, command, str(place(case) / "config.toml"), "--quiet", "--force", "-o", str(path)]
    line += ["--set", f"checkpoint.folder={path}.checkpoints"]
    for s in settings:
        line += ["--set", s]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(line)}: status {done.returncode}\n{done.stderr}")
    return path


def part(case, chosen, path):
    """The survey of the chosen traces: chosen takes the source of each trace and its number within the shot."""
    with h5py.File(place(case) / "survey.h5") as f, h5py.File(path, "w") as g:
        g.attrs.update(f.attrs)
        source = f["source_index"][:]
        number = np.zeros(len(source), int)
        for s in np.unique(source):
            number[source == s] = np.arange(np.count_nonzero(source == s))
        keep = np.flatnonzero(chosen(source, number))
        for name in f:
            if name in ("source_index", "receiver_index", "data"):
                g[name] = f[name][:][keep]
                g[name].attrs.update({k: v for k, v in f[name].attrs.items() if k != "sha256"})
            else:
                f.copy(name, g)
    return path


def main(cases):
    methods, halves, option = METHODS, HALVES, (cases or [""])[0]
    other = {"--tried": TRIED, "--arrivals": ARRIVALS, "--sparse": SPARSE, "--wavelet": {m: METHODS[m] for m in HALVES}}
    if option in other:
        methods, halves, cases = other[option], [], cases[1:]
    names = [*make.CASES, *(["viking"] if "LSM_VIKING" in os.environ else [])]
    unknown = [c for c in cases if c not in names]
    if unknown:
        raise SystemExit(f"unknown: {', '.join(unknown)}; cases are {', '.join(names)}")
    known = os.path.exists(make.MARMOUSI)
    cases = cases or [c for c in names if c not in ("lens", "small-lens") if known or not c.startswith("marmousi") or (CACHE / c / "config.toml").exists()]
    missing = [c for c in cases if not (place(c) / "config.toml").exists()]
    if missing:
        subprocess.run([sys.executable, HERE / "make.py", *missing, "-o", CACHE], check=True, stdout=sys.stderr)
    print("| case | " + " | ".join([*methods, *(f"agreement, {h}" for h in halves)]) + " |")
    print("|---|" + "---|" * (len(methods) + len(halves)))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for case in cases:
            truth, cells = CACHE / case / "truth.h5", []
            if not truth.exists():
                truth, cells = None, ["–"] * len(methods)
            inputs = []
            if option == "--sparse":
                inputs = [f"survey.file={part(case, lambda source, number: number % 4 == 0, folder / 'sparse.h5')}"]
            if option == "--wavelet":
                subprocess.run([LSM, "wavelet", place(case) / "survey.h5", "-o", folder / "wavelet.h5", "-q"], check=True, stdout=subprocess.DEVNULL)
                inputs = [f"survey.wavelet_file={folder / 'wavelet.h5'}"]
            for command, settings in methods.values() if truth else []:
                settings = settings + inputs
                whole, raw, _, _ = score.score(truth, image(case, command, settings, folder / "image.h5"))
                cells.append(f"{whole:.3f} / {raw:.3f}")
            surveys = [part(case, lambda source, number: source % 2 == odd, folder / f"{odd}.h5") for odd in (0, 1)]
            for method in halves:
                command, settings = methods[method]
                images = [image(case, command, settings + [f"survey.file={s}"], folder / f"image{i}.h5") for i, s in enumerate(surveys)]
                cells.append(f"{score.agreement(*images, truth):.3f}")
            for path in folder.glob("*.h5"):
                path.unlink()
            print(f"| {case} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
