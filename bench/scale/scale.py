"""scale.py [OPTIONS]: how the cost of a run grows with a line, a streamer over a model whose velocity
grows with depth. Makes surveys of several lengths, runs lsm on each with an aperture and on some
without, and prints a table with costs for each trace; --ranks runs longer lines on more ranks."""

import argparse
import array
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

# The line: points every SPACING m, DEPTH of them down, shots and channels every DISTANCE m.
SPACING, DEPTH, DISTANCE, CHANNELS = 12.5, 241, 50, 40


def options():
    p = argparse.ArgumentParser(description="How the cost of a run grows with a line.")
    p.add_argument("--lsm", default="bin/lsm", help="the program to run")
    p.add_argument("--folder", help="folder for the surveys; default: a temporary one")
    p.add_argument("--aperture", type=float, default=3000, help="kirchhoff.aperture, m")
    p.add_argument("--runs", type=int, default=3, help="runs of each line, of whose times the medians count")
    p.add_argument("--iterations", type=int, default=5, help="iterations of each run, of which the median counts")
    p.add_argument("--lengths", default="6,12,24,48,96", help="lengths of the line, km")
    p.add_argument("--whole", default="6,12,24", help="those that also run without an aperture, km")
    p.add_argument("--ranks", default="", help="lines that run on several ranks, as RANKS:KM,...")
    p.add_argument("--launcher", default="mpirun --oversubscribe -n", help="what starts several ranks, before their number")
    p.add_argument("--plot", help="PNG of the costs (needs matplotlib)")
    return p.parse_args()


def call(*command):
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # others do not mind
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True, env=env).stdout


def make(o, km):
    """The folder of the model and the survey of a line, which are made unless they are there."""
    folder = pathlib.Path(o.folder) / f"{km:g}"
    if (folder / "s/config.toml").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    nx = round(1000 * km / SPACING) + 1
    v = (1500 + 0.5 * SPACING * iz + 100 * math.sin(SPACING * ix / 2500) for ix in range(nx) for iz in range(DEPTH))
    (folder / "m.bin").write_bytes(array.array("f", v).tobytes())
    call(o.lsm, "import", "--model", folder / "m.bin", "--shape", f"{nx},{DEPTH}", "--type", "float32", "--byte-order", sys.byteorder,
         "--axes", "x,z", "--origin", "0,0", "--spacing", f"{SPACING},{SPACING}", "--units", "m/s", "-o", folder / "m.h5", "--force")
    call(o.lsm, "synth", "--model", folder / "m.h5", "-o", folder / "s", "--geometry", "streamer",
         "--shots", int(1000 * km / DISTANCE) - CHANNELS - 4, "--channels", CHANNELS, "--shot-spacing", DISTANCE,
         "--receiver-spacing", DISTANCE, "--first-shot", 2100, "--nt", 750, "--dt", 0.004)
    return folder


def keys(o, folder, aperture):
    """The options of a run of the line in a folder."""
    of = [f"solver.iterations={o.iterations}", f"checkpoint.folder={json.dumps(str(folder / 'checkpoints'))}"]
    if aperture:
        of.append(f"kirchhoff.aperture={aperture:g}")
    return [word for key in of for word in ("--set", key)]


def run(o, folder, aperture, ranks=1):
    """What a run cost: s of traveltimes and of an iteration, traces, bytes of tables and of the largest rank."""
    launch = [] if ranks == 1 else [*o.launcher.split(), ranks]
    out = call(*launch, o.lsm, "run", folder / "s/config.toml", "--json", "--force", "-o", folder / f"image{ranks}.h5", *keys(o, folder, aperture))
    events = [json.loads(line) for line in out.splitlines()]
    of = {e.get("section", e["event"]): e for e in events if e["event"] in ("timing", "memory", "done")}
    return {"times": of["traveltimes"]["max"], "iteration": statistics.median(e["seconds"] for e in events if e["event"] == "iteration"),
            "peak": of["memory"]["max"], "tables": of["done"]["tables_bytes"], "traces": of["done"]["traces"]}


def lines(o):
    """Prints the table of lines of several lengths, and draws it."""
    print("| aperture | line, km | traces | traveltimes, s | µs a trace | iteration, s | µs a trace | tables, MiB | KiB a trace | peak, MiB |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    drawn = {}
    for name, aperture, lengths in ((f"{o.aperture:g} m", o.aperture, o.lengths), ("none", 0, o.whole)):
        for km in map(float, filter(None, lengths.split(","))):
            costs = [run(o, make(o, km), aperture) for _ in range(o.runs)]
            c = costs[-1]
            n = c["traces"]
            times, iteration = (statistics.median(c[key] for c in costs) for key in ("times", "iteration"))
            print(f"| {name} | {km:g} | {n} | {times:.3g} | {1e6 * times / n:.3g} | {iteration:.3g} | {1e6 * iteration / n:.3g} | "
                  f"{c['tables'] / 2**20:.4g} | {c['tables'] / 1024 / n:.3g} | {c['peak'] / 2**20:.0f} |", flush=True)
            for what, seconds in (("traveltimes", times), ("iteration", iteration)):
                drawn.setdefault(f"{what}, aperture {name}", []).append((km, 1e6 * seconds / n))
    if o.plot:
        draw(drawn, o.plot)


def draw(drawn, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    for name, points in drawn.items():
        pyplot.semilogy(*zip(*points), "o-", label=name)
    pyplot.xlabel("length of the line, km")
    pyplot.ylabel("µs a trace")
    pyplot.legend()
    pyplot.savefig(path, dpi=200, bbox_inches="tight")


def on_ranks(o):
    """Prints what the rank that needs most holds and sends, and whether the image has the bits of one rank."""
    print("\n| ranks | line, km | traces a rank | peak of a rank, MiB | KiB a trace | sent by a rank in an iteration, MiB | iteration, s | against one rank |")
    print("|---|---|---|---|---|---|---|---|")
    for ranks, km in (text.split(":") for text in o.ranks.split(",")):
        ranks, folder = int(ranks), make(o, float(km))
        c = run(o, folder, o.aperture, ranks)
        check = call(o.lsm, "check", folder / "s/config.toml", "--json", "--ranks", ranks, *keys(o, folder, o.aperture))
        sent, same = json.loads(check.splitlines()[-1])["sent_bytes_per_iteration"], "-"
        if ranks > 1:
            run(o, folder, o.aperture)
            differ = subprocess.run([o.lsm, "compare", folder / f"image{ranks}.h5", folder / "image1.h5", "--tolerance", "0", "--quiet"],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
            same = "other bits" if differ else "same bits"
        each = c["traces"] / ranks
        print(f"| {ranks} | {km} | {each:.0f} | {c['peak'] / 2**20:.0f} | {c['peak'] / 1024 / each:.3g} | {sent / 2**20:.3g} | {c['iteration']:.3g} | {same} |", flush=True)


def main():
    o = options()
    with tempfile.TemporaryDirectory() as temporary:
        o.folder = o.folder or temporary
        if o.lengths:
            lines(o)
        if o.ranks:
            on_ranks(o)


if __name__ == "__main__":
    sys.exit(main())
