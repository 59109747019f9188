"""What a script of a user looks like, for a checker of types: test_library.py runs it."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import kirchhoff_lsm as lsm


def gradient(model: NDArray[np.float64], data: NDArray[np.float64], op: lsm.Kirchhoff) -> NDArray[np.float64]:
    """That of half the squared misfit."""
    return np.asarray(op.H @ (op @ model - data), "float64")


def main() -> None:
    x, z, t = np.arange(21) * 10.0, np.arange(11) * 10.0, np.arange(100) * 0.004
    places = np.vstack([np.linspace(0, 200, 6), np.zeros(6)])
    op = lsm.Kirchhoff(z, x, t, places, places, 2000.0, np.ones(3), 1, mode="analytic", source_index=[0, 1], receiver_index=[2, 3])
    found = gradient(np.ones(op.shape[1]), np.zeros(op.shape[0]), op)
    assert found.shape == (op.shape[1],)
    print(lsm.__version__, lsm.version(), len(repr(op)))


def image(config: Path, target: Path) -> float:
    """Runs the program and reads its image."""
    try:
        done = lsm.run(config, solver={"iterations": 5}, output=target)
    except lsm.Error as error:
        raise SystemExit(error.status) from error
    lsm.plot(done["output"], at={"x": 500}).savefig("profile.png")
    return float(lsm.open(target)["image"].max())


def arrays(data: NDArray[np.float32], sources: NDArray[np.float64], receivers: NDArray[np.float64]) -> float:
    """From arrays to an image, and the operator of the program."""
    survey = lsm.survey(data, sources, receivers, dt=0.004, ricker=20)
    velocity = lsm.grid(np.full((101, 61), 2000.0), [10, 10])
    image = lsm.run(survey=survey, velocity=velocity, solver={"iterations": 3})
    lsm.save(image, "image.h5")
    op = lsm.Operator(survey=survey, velocity=velocity, launcher="mpirun -n 4")
    return float(op.as_image(op.H @ op.recorded.ravel()).max())


if __name__ == "__main__":
    main()
