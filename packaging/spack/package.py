# A Spack repository's packages/lsm/package.py. It has the program alone. The Python package is the
# wheel of make dist, by pip.

from spack_repo.builtin.build_systems.go import GoPackage

from spack.package import *


class Lsm(GoPackage):
    """Seismic least-squares Kirchhoff migration: from a survey file to an image file, on all
    cores, on GPUs and over MPI, which it loads at run time."""

    homepage = "https://github.com/kirchhoff-lsm/lsm"
    git = "https://github.com/kirchhoff-lsm/lsm.git"

    license("Apache-2.0")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("go@1.25:", type="build")
    depends_on("hdf5+hl~mpi@1.10:1.14")

    cgo_enabled = True
    check_args = ["./kirchhoff", "./solver"]

    @property
    def build_args(self):
        return ["-p", str(self.module.make_jobs), "-modcacherw", "-buildvcs=false", "-o", "lsm", "./cmd/lsm"]
