"""The survey that waves.py images: the case marmousi-streamer of bench/wave."""

import h5py
import numpy as np

TAPER = 0.05  # s, lsm's data.mute_taper
TABLE = 30.0  # m, between the places of the tables of Seismic Unix and Madagascar, which interpolate between them


class Survey:
    """The case: velocity (x, z), traces (shot, channel, sample) muted as its configuration says, and their places on the line."""

    def __init__(self, folder):
        with h5py.File(folder / "model.h5") as f:
            self.velocity, self.h = f["velocity"][:], float(f["velocity"].attrs["spacing"][0])
        with h5py.File(folder / "survey.h5") as f:
            sources, receivers, d = f["sources"][:], f["receivers"][:], f["data"]
            self.dt, self.wavelet, self.zero = float(d.attrs["dt"]), f["wavelet"][:], int(f["wavelet"].attrs["zero"])
            shots = len(sources)
            self.data = d[:].reshape(shots, -1, d.shape[-1])
            self.spread = receivers[f["receiver_index"][:], 0].reshape(shots, -1)
        self.sources, self.depth = sources[:, 0], sources[0, 1]
        assert np.all(sources[:, 1] == self.depth) and np.all(receivers[:, 1] == self.depth)
        offset = np.abs(self.spread - self.sources[:, None])
        t = self.dt * np.arange(self.data.shape[-1])
        late = t - np.interp(offset, [0, 2600], [0.15, 1.9])[..., None]
        self.mute = np.where(late <= 0, 0, np.where(late >= TAPER, 1, 0.5 - 0.5 * np.cos(np.pi * late / TAPER))).astype("f4")

    @property
    def muted(self):
        return self.data * self.mute

    def tables(self):
        """First place, number and distance of the places that a table holds."""
        first = min(self.spread.min(), self.sources.min())
        return first, int(np.ceil((max(self.spread.max(), self.sources.max()) - first) / TABLE)) + 1, TABLE
