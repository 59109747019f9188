"""kernel.py LSM CASE: forward and adjoint of lsm and PyLops on one problem."""

import json
import os
import subprocess
import sys

import problem

lsm, case = sys.argv[1:]
shape, ns, nr, nt = problem.CASES[case]
triples = ns * nr
for n in shape:
    triples *= n
variants = [0] if len(shape) == 3 else [0, 1]  # PyLops' 3-D dynamic weights are other weights
if os.environ.get("WEIGHTS"):  # "static" or "dynamic" alone
    variants = [int(os.environ["WEIGHTS"] == "dynamic")]


def ours(threads, dynamic):
    args = [lsm, "bench", "kernel", "--json", "--sources", str(ns), "--receivers", str(nr),
            "--shape", ",".join(map(str, shape)), "--samples", str(nt), "--threads", str(threads),
            "--runs", str(problem.RUNS)]
    args += ["--dynamic"] * dynamic + ["--streamer"] * (case == "streamer")
    out = subprocess.run(args, check=True, capture_output=True, text=True).stdout
    return json.loads(out.splitlines()[0])


def child(threads, build, dynamic, engine, runs):
    out = subprocess.run([sys.executable, "pylops_child.py", case, str(threads), build, str(dynamic), engine],
                         check=True, capture_output=True, text=True, cwd=os.path.dirname(os.path.abspath(__file__)),
                         env={**os.environ, "RUNS": str(runs)}).stdout
    return json.loads(out.splitlines()[-1])


def theirs(threads, dynamic, engine="numba", runs=problem.RUNS):
    """The faster of numba's two builds, found by one run of each."""
    build = "parallel"
    if engine == "numba" and threads == 1:
        build = min(("serial", "parallel"), key=lambda b: sum(child(1, b, dynamic, engine, 1).values()))
    return {k: 1e9 * v / triples for k, v in child(threads, build, dynamic, engine, runs).items()}


print(f"\n### {case}: {ns}×{nr}×{'×'.join(map(str, shape))}, nt {nt}: {triples:.3g} triples\n")
print("| threads | weights | lsm forward, ns | lsm adjoint, ns | PyLops forward, ns | PyLops adjoint, ns | forward × | adjoint × | dot test |")
print("|---|---|---|---|---|---|---|---|---|")
for threads in (1, 2):
    for dynamic in variants:
        a, b = ours(threads, dynamic), theirs(threads, dynamic)
        print(f"| {threads} | {'dynamic' if dynamic else 'static'} | {a['forward_ns']:.3f} | {a['adjoint_ns']:.3f} "
              f"| {b['forward']:.2f} | {b['adjoint']:.2f} | {b['forward'] / a['forward_ns']:.1f} "
              f"| {b['adjoint'] / a['adjoint_ns']:.1f} | {a['dot_error']:.0e} |", flush=True)
if case == "small":
    b = theirs(1, 0, "numpy", 1)
    print(f"\nPyLops' numpy engine, static, 1 thread: forward {b['forward']:.1f} ns, adjoint {b['adjoint']:.1f} ns.")
