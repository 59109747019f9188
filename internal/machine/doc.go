// Package machine says what the machine and the launcher of this process offer:
// processor, memory, accelerators, libraries found by name on the loader's path,
// and the variables that MPI launchers and Slurm set. It only looks: no library
// is loaded, no device is opened, no program is started.
package machine
