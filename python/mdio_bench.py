"""Reads traces from an MDIO store and from the SEG-Y file of which it was made: python3 python/mdio_bench.py [MIB [TIMES]].

Prints medians of wall and processor time, and the largest memory, of kirchhoff_lsm.read_mdio and of lsm import (LSM_PROGRAM)."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

NT, CHANNELS, MIB = 1000, 512, 1 << 20
READ = "import sys, kirchhoff_lsm; kirchhoff_lsm.read_mdio(*sys.argv[1:], ricker=20)"


def write_segy(path, shots):
    """Shots of a streamer, random samples: SEG-Y of IEEE floats."""
    fields = {"record": (8, ">i4"), "channel": (12, ">i4"), "point": (16, ">i4"), "code": (28, ">i2"), "scalars": (68, ">2i2"),
              "places": (72, ">4i4"), "unit": (88, ">i2"), "sampling": (114, ">2u2"), "samples": (240, f">{NT}f4")}  # fmt: skip
    trace = np.dtype({"names": list(fields), "offsets": [v[0] for v in fields.values()], "formats": [v[1] for v in fields.values()], "itemsize": 240 + 4 * NT})
    binary = np.zeros(400, "u1")
    for byte, value in {3213: 1, 3217: 4000, 3221: NT, 3225: 5, 3255: 1}.items():
        binary[byte - 3201 : byte - 3199].view(">i2")[0] = value
    rng = np.random.default_rng(1)
    with open(path, "wb") as file:
        file.write(b"\x40" * 3200 + binary.tobytes())
        for shot in range(shots):
            block = np.zeros(CHANNELS, trace)
            block["record"] = block["point"] = shot + 1
            block["channel"] = np.arange(CHANNELS) + 1
            block["code"], block["scalars"], block["unit"], block["sampling"] = 1, 1, 1, (NT, 4000)
            block["places"][:, 0], block["places"][:, 2] = 25 * shot, 25 * shot - 100 - 12 * np.arange(CHANNELS)
            block["samples"] = rng.standard_normal((CHANNELS, NT), "f4")
            file.write(block.tobytes())


def ingest(source, target):
    from mdio import segy_to_mdio
    from mdio.builder.template_registry import get_template
    from segy.schema import HeaderField
    from segy.standards import get_segy_standard

    fields = [HeaderField(name="shot_point", byte=17, format="int32"), HeaderField(name="channel", byte=13, format="int32")]
    segy_to_mdio(get_segy_standard(1.0).customize(trace_header_fields=fields), get_template("StreamerShotGathers2D"), source, target)


def run(command, output):
    """Wall and processor time, s, and largest resident memory, MiB, of a process."""
    output.unlink(missing_ok=True)
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} failed")
    return time.perf_counter() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main(mib=256, times=3):
    with tempfile.TemporaryDirectory() as folder:
        segy, store, output = Path(folder, "a.sgy"), Path(folder, "a.mdio"), Path(folder, "a.h5")
        write_segy(segy, mib * MIB // (4 * NT * CHANNELS))
        ingest(segy, store)
        commands = {
            "read_mdio": [sys.executable, "-c", READ, str(store), str(output)],
            "lsm import": [os.environ.get("LSM_PROGRAM", "lsm"), "import", str(segy), "-o", str(output), "--ricker", "20", "-q"],
        }
        runs = {name: [] for name in commands}
        for _ in range(times):
            for name, command in commands.items():
                runs[name].append(run(command, output))
        for name, done in runs.items():
            wall, processor, memory = zip(*done)
            print(f"{name:10}: {mib} MiB of traces, median of {times} {statistics.median(wall):.1f} s, "
                  f"{statistics.median(processor):.1f} s of processors, at most {max(memory):.0f} MiB")  # fmt: skip


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
