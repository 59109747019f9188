package config

// Config is a complete configuration: every key has a value, checked against
// its range and against the other keys. Treat it as immutable.
type Config struct {
	Survey     Survey     `toml:"survey" json:"survey" help:"The recorded data: geometry, traces and wavelet."`
	Velocity   Velocity   `toml:"velocity" json:"velocity" help:"The velocity model: exactly one of file and constant."`
	Image      Image      `toml:"image" json:"image" help:"The grid of the image: all three keys, each with 2 values (x, z) or 3 values (x, y, z), or none of them for the velocity model's own grid. Required with velocity.constant."`
	Traveltime Traveltime `toml:"traveltime" json:"traveltime" help:"How the one-way traveltimes from sources and receivers to the image points are found."`
	Kirchhoff  Kirchhoff  `toml:"kirchhoff" json:"kirchhoff" help:"The modelling operator and its exact adjoint."`
	Comm       Comm       `toml:"comm" json:"comm" help:"How the ranks of a parallel run share the work and talk to each other."`
	Solver     Solver     `toml:"solver" json:"solver" help:"The least-squares solver."`
	Checkpoint Checkpoint `toml:"checkpoint" json:"checkpoint" help:"When the state of a run is saved, so that --resume can go on with it."`
	Output     Output     `toml:"output" json:"output" help:"The files that a run writes."`
	Machine    Machine    `toml:"machine" json:"machine" help:"What of the machine each rank may use."`

	path    string // of the file, as given
	origins map[string]origin
	notes   []Problem
}

// Survey is the section [survey].
type Survey struct {
	File Path `toml:"file" json:"file" required:"yes" example:"survey.h5" also:"data,path,survey" help:"Survey file (HDF5, format lsm-survey): source and receiver positions, traces, wavelet."`
}

// Velocity is the section [velocity].
type Velocity struct {
	File     Path    `toml:"file" json:"file" default:"" example:"model.h5" live:"yes" also:"model,path" help:"File with the dataset /velocity, shape [nx, (ny,) nz], m/s, and its attributes origin and spacing, m. It may be the survey file. Empty: velocity.constant is used."`
	Constant float64 `toml:"constant" json:"constant" default:"0.0" example:"2000.0" unit:"m/s" range:"[0,)" also:"velocity,value,v" help:"One velocity everywhere. 0: velocity.file is used."`
}

// Image is the section [image]. All lists are empty, or all have 2 or 3 values.
type Image struct {
	Origin  []float64 `toml:"origin" json:"origin" default:"[]" example:"[0.0, 0.0]" unit:"m" len:"0,2,3" also:"start,o" help:"Position of the first image point, in the column order x z or x y z; z points down."`
	Spacing []float64 `toml:"spacing" json:"spacing" default:"[]" example:"[10.0, 10.0]" unit:"m" range:"(0,)" len:"0,2,3" also:"dx,d,step,sampling" help:"Distance between neighbouring image points along each axis."`
	Shape   []int     `toml:"shape" json:"shape" default:"[]" example:"[401, 301]" range:"[1,)" len:"0,2,3" also:"n,size,points" help:"Number of image points along each axis."`
}

// Traveltime is the section [traveltime].
type Traveltime struct {
	Method string `toml:"method" json:"method" default:"eikonal" choices:"analytic,eikonal,table" also:"mode,type" help:"analytic: distance over velocity, for velocity.constant. eikonal: factored eikonal equation, second order, sources anywhere. table: read from traveltime.file."`
	File   Path   `toml:"file" json:"file" default:"" example:"times.h5" also:"table,tables,path" help:"Table file (HDF5, format lsm-tables), needed by method = \"table\" and not read otherwise."`
}

// Kirchhoff is the section [kirchhoff].
type Kirchhoff struct {
	Engine        string    `toml:"engine" json:"engine" default:"auto" choices:"auto,cpu,reference,cuda,hip" also:"device" help:"What computes. auto: cpu. cpu: vector instructions and threads. reference: the plain float64 operator that the others are tested against, slow. cuda, hip: an NVIDIA or AMD GPU; an error where there is none; not yet run on a real card."`
	Dynamic       bool      `toml:"dynamic" json:"dynamic" default:"false" also:"amplitudes,weights" help:"Amplitude weights A = 2 cos(theta) b_s b_r / v: geometrical spreading and obliquity. false: A = 1."`
	WaveletFilter bool      `toml:"wavelet_filter" json:"wavelet_filter" default:"false" also:"wavfilter,filter,half_derivative" help:"Filter the wavelet by a half derivative in 2-D, a derivative in 3-D, so that a stacked reflector keeps the wavelet's shape."`
	Tables        string    `toml:"tables" json:"tables" default:"auto" choices:"auto,full,uint16,coarse,recompute" also:"table_mode,times" help:"Where the traveltime tables are while the solver runs. full: all in memory. uint16: all, their times in 16 bits, within dt/2048 for a trace (more where times of neighbouring points are many samples apart): half the memory without dynamic. coarse: every second point of each axis kept, interpolated (cubic, T over distance) as they are needed. recompute: as many as fit into machine.memory_gib at a time, computed anew in every application. auto: full where they fit, else uint16 where that fits, else recompute. The reference engine has full only."`
	AngleLimit    []float64 `toml:"angle_limit" json:"angle_limit" default:"[72.0, 90.0]" unit:"degrees" range:"[0,180]" len:"0,1,2" scalar:"yes" also:"aperture,angleaperture,max_angle" help:"Largest angle between ray and vertical at the image point, for source and receiver: where the taper starts and where the weight becomes 0. A single value g means [0.8 g, g]; [] means no limit. Acts only with dynamic = true."`
}

// Comm is the section [comm].
type Comm struct {
	Backend    string  `toml:"backend" json:"backend" default:"auto" choices:"auto,self,mpi,nccl,rccl" also:"type,library" help:"auto: what the launcher and the engine offer. self: one process. With a GPU and more than one rank NCCL or RCCL where it is found. mpi: MPI, staging GPU data through the host unless MPI is GPU-aware. nccl, rccl: sums between GPUs by NCCL (engine cuda) or RCCL (engine hip), MPI for the rest."`
	Grid       []int   `toml:"grid" json:"grid" default:"[0, 1]" range:"[0,1e6]" len:"2" also:"ranks,process_grid" help:"Ranks over shots, ranks over image blocks; their product is the number of ranks. 0 in one of the two places: as many as there are."`
	Fallback   string  `toml:"fallback" json:"fallback" default:"none" choices:"none,mpi" help:"What to do where backend = \"nccl\" or \"rccl\" cannot be had. none: an error. mpi: a warning, and MPI."`
	Accumulate string  `toml:"accumulate" json:"accumulate" default:"allreduce" choices:"allreduce,onesided" also:"reduction" help:"How image and data are summed over ranks. allreduce: one all-reduce. onesided: each rank adds into the memory of the others (MPI windows), where the library offers that."`
	Overlap    string  `toml:"overlap" json:"overlap" default:"auto" choices:"auto,on,off" also:"nonblocking" help:"on: one piece of the image is summed over the ranks while the next is computed. off: the whole after the whole. auto: on, where there is more than one rank."`
	Timeout    float64 `toml:"timeout" json:"timeout" default:"45.0" unit:"s" range:"[5,)" also:"watchdog" help:"How long a rank that the others wait for may show no sign of work before the run is given up (exit status 6). A rank that dies is noticed at once."`
}

// Solver is the section [solver].
type Solver struct {
	Method            string  `toml:"method" json:"method" default:"cgls" choices:"cg,cgls,lsqr,ista,fista" also:"type,solver,name" help:"cg: conjugate gradients on the normal equations. cgls, lsqr: the same minimum, kinder to rounding; cgls tests the adjoint at every iteration for the price of one dot product. ista, fista: sparse images, with solver.sparsity."`
	Iterations        int     `toml:"iterations" json:"iterations" default:"20" range:"[0,1e6]" also:"niter,iter,maxiter,max_iterations,n_iterations" help:"Iteration limit. A run that reaches it has ended well (exit status 0)."`
	Tolerance         float64 `toml:"tolerance" json:"tolerance" default:"0.0" range:"[0,)" also:"tol,rtol,eps_stop" help:"Stop when the norm of the residual has fallen to this fraction of the norm of the data. 0: go on to the iteration limit."`
	Damping           float64 `toml:"damping" json:"damping" default:"0.0" range:"[0,)" also:"damp,lambda,regularization,epsilon" help:"Weight d of the damping: |A m - data|^2 + d^2 |m|^2 is minimised. 0: none."`
	Reproducible      string  `toml:"reproducible" json:"reproducible" default:"ranks" choices:"off,run,ranks" also:"deterministic,reproducibility" help:"off: sums in any order. run: same ranks, same hardware, same bits. ranks: the same bits for any number of ranks and threads and any process grid."`
	Start             Path    `toml:"start" json:"start" default:"" example:"start.h5" also:"x0,initial,start_model" help:"Image file used as the start model. Empty: start from zero."`
	Sparsity          float64 `toml:"sparsity" json:"sparsity" default:"0.0" range:"[0,)" also:"eps,l1,threshold" help:"Weight e of the l1 norm in ista and fista: |A m - data|^2 / 2 + e |m|_1 is minimised. Unused by the other methods."`
	Orthogonalize     int     `toml:"orthogonalize" json:"orthogonalize" default:"20" range:"[0,10000]" also:"reorthogonalize,orthogonalise" help:"Number of past gradients that cgls keeps and makes every later one orthogonal to. In single precision this saves the iterations that rounding would waste; each costs the memory of one image. 0: none."`
	TrueResidualEvery int     `toml:"true_residual_every" json:"true_residual_every" default:"10" range:"[0,1e6]" also:"residual_every" help:"How often the residual is computed afresh from the data instead of by recurrence, at the price of one forward. 0: never."`
}

// Checkpoint is the section [checkpoint].
type Checkpoint struct {
	Minutes    float64 `toml:"minutes" json:"minutes" default:"10.0" unit:"minutes" range:"[0,)" also:"interval,every" help:"Time between checkpoints. 0: never by the clock."`
	Iterations int     `toml:"iterations" json:"iterations" default:"0" range:"[0,1e6]" also:"every_iterations" help:"A checkpoint every so many iterations as well. 0: never by the count."`
	TimeLimit  float64 `toml:"time_limit" json:"time_limit" default:"0.0" unit:"minutes" range:"[0,)" also:"walltime,max_minutes" help:"Time after which the run stops with a checkpoint (exit status 75), such as the batch job's less a margin. 0: none."`
	Folder     Path    `toml:"folder" json:"folder" default:"checkpoints" also:"directory,dir,path,file" help:"Folder of the checkpoint files; made if missing."`
}

// Output is the section [output].
type Output struct {
	File    Path `toml:"file" json:"file" default:"image.h5" also:"image,path,name" help:"Image file (HDF5, format lsm-image): image, history, resolved configuration and provenance."`
	Adjoint Path `toml:"adjoint" json:"adjoint" default:"" example:"migrated.h5" also:"migration,migrated" help:"Image file for the plain Kirchhoff image, the adjoint applied to the data, as well. Empty: not written."`
}

// Machine is the section [machine].
type Machine struct {
	Threads   int     `toml:"threads" json:"threads" default:"0" range:"[0,65536]" also:"nthreads,cores,cpus,workers" help:"Threads of each rank. 0: all processors that the rank may use."`
	MemoryGiB float64 `toml:"memory_gib" json:"memory_gib" default:"0.0" unit:"GiB" range:"[0,)" also:"memory,memory_gb,ram" help:"Memory that each rank may fill. 0: what the machine has."`
}
