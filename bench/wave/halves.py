"""halves.py [CASE...]: whether images of a survey's odd and even shots agree where they are true; all cases without arguments.

    python3 bench/wave/halves.py faults        # after bench/wave/run.sh faults has made the case

Prints a Markdown table of cases, dampings and iterations: how well the images of two surveys of every second source agree in
the truth's box, and the score of score.py, balanced and raw, of the image of all shots and of the mean of both. Files,
program and folders are those of run.py.
"""
import pathlib
import sys
import tempfile

import h5py
import run
import score

SETTINGS = [f"solver.damping={x}" for x in (0.03, 0.1, 0.2, 0.4, 0.8, 1.6)] + [f"solver.iterations={n}" for n in (2, 4, 16, 40)]


def main(cases):
    print("| case | setting | agreement | all shots | mean of halves |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for case in cases or [c for c in run.make.CASES if (run.CACHE / c / "config.toml").exists()]:
            truth = run.CACHE / case / "truth.h5"
            surveys = [run.part(case, lambda source, number: source % 2 == odd, folder / f"{odd}.h5") for odd in (0, 1)]
            for setting in SETTINGS:
                images = [run.image(case, "run", [setting, f"survey.file={s}"], folder / f"image{i}.h5") for i, s in enumerate(surveys)]
                agrees = score.agreement(*images, truth)
                every = score.score(truth, run.image(case, "run", [setting], folder / "image.h5"))[:2]
                with h5py.File(images[0], "r+") as a, h5py.File(images[1]) as b:
                    a["image"][...] = (a["image"][:] + b["image"][:]) / 2
                mean = score.score(truth, images[0])[:2]
                print(f"| {case} | {setting} | {agrees:.3f} | {every[0]:.3f} / {every[1]:.3f} | {mean[0]:.3f} / {mean[1]:.3f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
