package config

// Config is a complete configuration: every key has a value, checked against
// its range and against the other keys. Treat it as immutable.
type Config struct {
	Survey     Survey     `toml:"survey" json:"survey" help:"The recorded data: geometry, traces and wavelet."`
	Data       Data       `toml:"data" json:"data" help:"Which of the recorded traces are used, and how much each sample counts in the least-squares solve."`
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
	File  Path   `toml:"file" json:"file" required:"yes" example:"survey.h5" also:"data,path,survey" help:"Survey file (HDF5, format lsm-survey): source and receiver positions, traces, wavelet."`
	Units string `toml:"units" json:"units" default:"auto" choices:"auto,si" help:"auto: a survey that does not look as if it were in m and s is refused: a sampling interval above 0.1 s looks like ms, positions that all lie within half of the shortest wavelength look like km. si: it is taken as it stands, in m and s."`
}

// Data is the section [data].
type Data struct {
	Offset      []float64 `toml:"offset" json:"offset" order:"sorted" default:"[]" example:"[0.0, 3000.0]" unit:"m" range:"[0,)" len:"0,2" also:"offsets,offset_range,max_offset" help:"Smallest and largest horizontal distance between source and receiver of the traces that are used; the others take no part in anything. []: all."`
	Azimuth     []float64 `toml:"azimuth" json:"azimuth" order:"sorted" default:"[]" example:"[0.0, 45.0]" unit:"degrees" range:"[-360,360]" len:"0,2" also:"azimuths,azimuth_range" help:"Range of the direction from source to receiver, from the y axis towards the x axis, of the traces that are used; a trace and its reverse count alike, one without offset lies in every range. 3-D only. []: all."`
	Dead        string    `toml:"dead" json:"dead" default:"mask" choices:"mask,keep" also:"dead_traces" help:"Traces whose samples are all zero. mask: their weight is 0, as if they had not been recorded. keep: they are data that say zero."`
	Weights     string    `toml:"weights" json:"weights" default:"none" choices:"none,survey,rms" also:"weighting,trace_weights" help:"Weight w of each trace, in the solve, which minimises |w (A m - data)|^2, and in migration. none: 1. survey: the survey's dataset /weight, [ntrace] or [ns, nr]. rms: 1 over the root mean square of what the mute leaves of the trace, times a factor that makes the mean of the weights above 0 equal to 1."`
	MuteOffsets []float64 `toml:"mute_offsets" json:"mute_offsets" order:"ascending" default:"[]" example:"[0.0, 3000.0]" unit:"m" range:"[0,)" len:"any" also:"mute_offset,mute" help:"Offsets of the mute's corners, ascending; between them it is linear, beyond them constant. []: no mute."`
	MuteTimes   []float64 `toml:"mute_times" json:"mute_times" default:"[]" example:"[0.1, 2.1]" unit:"s" len:"any" also:"mute_time" help:"Time at each of data.mute_offsets before which samples have weight 0."`
	MuteTaper   float64   `toml:"mute_taper" json:"mute_taper" with:"data.mute_offsets" default:"0.05" unit:"s" range:"[0,)" also:"taper" help:"Time over which the mute's weight rises from 0 to 1, as a cosine."`
	Whiten      float64   `toml:"whiten" json:"whiten" traces:"once" default:"0.0" range:"[0,1]" also:"whitening,spiking,deconvolution" help:"Flattens the wavelet's amplitude spectrum, in the data and in the operator alike: both are divided by sqrt(|W|^2 + e^2 max|W|^2), W the spectrum of the wavelet, with kirchhoff.wavelet_filter the filtered one, e this value. Not for lsm model. 0: not at all. 0.1 is a good value for clean data."`
	Read        string    `toml:"read" json:"read" default:"auto" choices:"auto,memory,stream" also:"streaming,stream,out_of_core" help:"memory: all of a rank's traces are held. stream: they are read shot by shot, ahead of the computation, whenever a gradient needs them; the solve then holds images only. Methods cg and cgls, engine cpu. auto: stream where the traces do not fit into machine.memory_gib, or only with recomputed tables. The two agree to rounding; for the same bits everywhere choose one."`
}

// Velocity is the section [velocity].
type Velocity struct {
	File     Path    `toml:"file" json:"file" default:"" example:"model.h5" live:"yes" also:"model,path" help:"File with the dataset /velocity, shape [nx, (ny,) nz], in velocity.units, and its attributes origin and spacing, m. It may be the survey file. Empty: velocity.constant is used."`
	Constant float64 `toml:"constant" json:"constant" default:"0.0" example:"2000.0" unit:"m/s" range:"[0,)" also:"velocity,value,v" help:"One velocity everywhere, in velocity.units. 0: velocity.file is used."`
	Units    string  `toml:"units" json:"units" default:"auto" choices:"auto,m/s,km/s,ft/s" also:"unit" help:"Units of the velocities, which are converted to m/s. auto: what the attribute units of /velocity says, else m/s; velocities that do not look like it, such as all below 20, are refused. With m/s they are taken as they stand. An attribute that says otherwise is an error."`
}

// Image is the section [image]. All lists are empty, or all have 2 or 3 values.
type Image struct {
	Origin  []float64 `toml:"origin" json:"origin" default:"[]" example:"[0.0, 0.0]" unit:"m" len:"0,2,3" also:"start,o" help:"Position of the first image point, in the column order x z or x y z; z points down."`
	Spacing []float64 `toml:"spacing" json:"spacing" default:"[]" example:"[10.0, 10.0]" unit:"m" range:"(0,)" len:"0,2,3" also:"dx,d,step,sampling" help:"Distance between neighbouring image points along each axis."`
	Shape   []int     `toml:"shape" json:"shape" default:"[]" example:"[401, 301]" range:"[1,)" len:"0,2,3" also:"n,size,points" help:"Number of image points along each axis."`

	Surface      string    `toml:"surface" json:"surface" default:"none" choices:"none,survey,file" also:"topography,mute_above" help:"Topography above which the image is kept zero. none: no surface. survey: through the positions of sources and receivers, but for those that are buried under the others; linear in 2-D, smooth in 3-D. file: image.surface_file. Above it the velocity model must go on as right below it."`
	SurfaceFile  Path      `toml:"surface_file" json:"surface_file" with:"image.surface=file" default:"" example:"surface.h5" also:"topography_file" help:"HDF5 file with the dataset /surface, [nx] or [nx, ny]: z of the surface, m, linear between points, with attributes origin and spacing of its horizontal axes. It must cover the image."`
	SurfaceTaper float64   `toml:"surface_taper" json:"surface_taper" with:"image.surface=survey|file" default:"0.0" unit:"m" range:"[0,)" help:"Depth below the surface over which the image's weight rises from 0 to 1, as a cosine."`
	Gathers      string    `toml:"gathers" json:"gathers" default:"none" choices:"none,offset,angle" also:"gather,common_image_gathers" help:"Images by class beside the image. offset: one of the traces in each interval of offsets; traces in none are not used. angle: one of each class of opening angles between the rays of source and receiver at the image point, at the price of an operator each. Migration and solve make gathers alike: the migrated image is the sum of its classes, that of a solve, where every class explains its part of the data by an image of its own, their mean. What is in no class is not in the image. Not on a GPU."`
	GatherBins   []float64 `toml:"gather_bins" json:"gather_bins" with:"image.gathers=offset|angle" order:"ascending" default:"[]" example:"[0.0, 500.0, 1000.0]" unit:"m or degrees" range:"[0,)" len:"any" also:"bins,offset_bins,angle_bins" help:"For offset: ascending limits of the intervals, m. For angle: ascending centres of the classes, degrees, between which a contribution is shared."`
	GatherEnds   string    `toml:"gather_ends" json:"gather_ends" with:"image.gathers=angle" default:"closed" choices:"closed,open" also:"bin_ends,open_bins" help:"Where the first and the last class of opening angles end. closed: half a class's width beyond their centres, tapered as between classes; narrower and wider angles are in no class. open: at 0 and 180 degrees, so that every angle is in a class and the migrated image is that of a run without gathers."`
}

// Traveltime is the section [traveltime].
type Traveltime struct {
	Method string `toml:"method" json:"method" traces:"same" default:"eikonal" choices:"registry" also:"mode,type"`
	File   Path   `toml:"file" json:"file" with:"traveltime.method:tables" default:"" example:"times.h5" also:"table,tables,path" help:"Table file (HDF5, format lsm-tables), needed by method = \"table\" and not read otherwise."`
}

// Kirchhoff is the section [kirchhoff].
type Kirchhoff struct {
	Engine        string    `toml:"engine" json:"engine" default:"auto" choices:"auto,cpu,reference,cuda,hip" also:"device" help:"What computes. auto: cpu, beside a GPU too, since from which size of a problem on one is faster has not been measured. cpu: vector instructions and threads. reference: the plain float64 operator that the others are tested against, slow. cuda, hip: an NVIDIA or AMD GPU; an error where there is none; not yet run on a real card."`
	Dynamic       bool      `toml:"dynamic" json:"dynamic" traces:"same" default:"false" also:"amplitudes,weights" help:"Amplitude weights A = 2 cos(theta) b_s b_r / v: geometrical spreading and obliquity. false: A = 1."`
	WaveletFilter bool      `toml:"wavelet_filter" json:"wavelet_filter" traces:"same" default:"false" also:"wavfilter,filter,half_derivative" help:"Filter the wavelet by a half derivative in 2-D, a derivative in 3-D, so that a stacked reflector keeps the wavelet's shape."`
	Tables        string    `toml:"tables" json:"tables" default:"auto" choices:"auto,full,uint16,coarse,recompute" also:"table_mode,times" help:"Where the traveltime tables are while the solver runs. full: all in memory. uint16: all, their times in 16 bits, within dt/2048 for a trace (more where times of neighbouring points are many samples apart): half the memory without dynamic. coarse: every second point of each axis kept, interpolated (cubic, T over distance) as they are needed. recompute: as many as fit into machine.memory_gib at a time, computed anew in every application. auto: full where they fit, else uint16 where that fits, else recompute. The reference engine has full only, a GPU full and uint16, and auto there looks at the memory that is free on it."`
	AngleLimit    []float64 `toml:"angle_limit" json:"angle_limit" traces:"same" with:"kirchhoff.dynamic=true" default:"[72.0, 90.0]" unit:"degrees" range:"[0,180]" len:"0,1,2" scalar:"yes" also:"aperture,angleaperture,max_angle" help:"Largest angle between ray and vertical at the image point, for source and receiver: where the taper starts and where the weight becomes 0. A single value g means [0.8 g, g]; [] means no limit. Acts only with dynamic = true."`
	DipLimit      []float64 `toml:"dip_limit" json:"dip_limit" traces:"same" default:"[]" example:"[50.0, 60.0]" unit:"degrees" range:"[0,180]" len:"0,1,2" scalar:"yes" also:"dip,max_dip,aperture_dip" help:"Largest dip of a reflector that a pair of rays may illuminate at an image point, from the sum of their slowness vectors: where the taper starts and where the weight becomes 0. A single value g means [0.8 g, g]; [] means no limit."`
	OpeningLimit  []float64 `toml:"opening_limit" json:"opening_limit" traces:"same" default:"[]" example:"[80.0, 100.0]" unit:"degrees" range:"[0,180]" len:"0,1,2" scalar:"yes" also:"opening,max_opening,opening_angle" help:"Largest angle between the rays of source and receiver at an image point, in the same form."`
	Antialias     string    `toml:"antialias" json:"antialias" traces:"same" default:"off" choices:"off,triangle" also:"anti_alias,antialiasing,anti_aliasing" help:"triangle: where the time of a trace at an image point changes with the horizontal position by much from trace to trace, the trace is smoothed by a triangle that reaches to either side as far as the time changes over antialias_spacing (Lumley, Claerbout and Bevc 1994), in both directions of the operator alike: steep parts of the traveltime curves then do not alias. Not with engines cuda and hip."`
	AliasSpacing  []float64 `toml:"antialias_spacing" json:"antialias_spacing" traces:"same" with:"kirchhoff.antialias=triangle" default:"[]" example:"[25.0]" unit:"m" range:"(0,)" len:"0,1,2" scalar:"yes" also:"alias_spacing" help:"Distance between neighbouring receivers of a shot along x (and y). []: as in the survey, or that of neighbouring sources of a receiver where it is less; a single value stands for both axes. Larger values smooth more."`
}

// Comm is the section [comm].
type Comm struct {
	Backend    string  `toml:"backend" json:"backend" default:"auto" choices:"auto,self,mpi,mpi-staged,nccl,rccl" also:"type,library" help:"auto: what the launcher and the engine offer. self: one process. With a GPU and more than one rank NCCL or RCCL where it is found. mpi: MPI, staging GPU data through the host unless MPI is GPU-aware. mpi-staged: the same, staging always. nccl, rccl: sums between GPUs by NCCL (engine cuda) or RCCL (engine hip), MPI for the rest."`
	Grid       []int   `toml:"grid" json:"grid" default:"[0, 1]" range:"[0,1e6]" len:"2" also:"ranks,process_grid" help:"Ranks over shots, ranks over image blocks; their product is the number of ranks. 0 in one of the two places: as many as there are."`
	Fallback   string  `toml:"fallback" json:"fallback" default:"none" choices:"none,mpi" help:"What to do where backend = \"nccl\" or \"rccl\" cannot be had. none: an error. mpi: a warning, and MPI."`
	Accumulate string  `toml:"accumulate" json:"accumulate" default:"allreduce" choices:"allreduce,onesided" also:"reduction" help:"How image and data are summed over ranks. allreduce: one all-reduce. onesided: each rank adds into the memory of the others (MPI windows), where the library offers that."`
	Overlap    string  `toml:"overlap" json:"overlap" default:"auto" choices:"auto,on,off" also:"nonblocking" help:"on: one piece of the image is summed over the ranks while the next is computed. off: the whole after the whole. auto: with reproducible = \"ranks\" the first iterations are measured with and without, and the faster is kept, which changes no bit of the result; else on."`
	Timeout    float64 `toml:"timeout" json:"timeout" default:"45.0" unit:"s" range:"[5,1e9]" also:"watchdog" help:"How long a rank that the others wait for may show no sign of work before the run is given up (exit status 6). A rank that dies is noticed at once."`
}

// Solver is the section [solver].
type Solver struct {
	Method            string  `toml:"method" json:"method" default:"cgls" choices:"cg,cgls,lsqr,ista,fista,matching" also:"type,solver,name" help:"cg: conjugate gradients on the normal equations. cgls, lsqr: the same minimum, kinder to rounding; cgls tests the adjoint at every iteration for the price of one dot product. ista, fista: sparse images, with solver.sparsity. matching: the migrated image filtered by what undoes one more pass of modelling and migration (Guitton 2004), at the price of about two iterations."`
	Iterations        int     `toml:"iterations" json:"iterations" with:"!solver.method=matching" default:"20" range:"[0,1e6]" also:"niter,iter,maxiter,max_iterations,n_iterations" help:"Iteration limit. A run that reaches it has ended well (exit status 0)."`
	Tolerance         float64 `toml:"tolerance" json:"tolerance" with:"!solver.method=matching" default:"0.0" range:"[0,)" also:"tol,rtol,eps_stop" help:"Stop when the norm of the residual has fallen to this fraction of the norm of the data. 0: go on to the iteration limit."`
	Damping           float64 `toml:"damping" json:"damping" default:"0.0" range:"[0,1e15]" also:"damp,lambda,regularization,epsilon" help:"Weight d of the damping: |A m - data|^2 + d^2 |m|^2 is minimised, in units of solver.penalty_scale. 0: none."`
	PenaltyScale      string  `toml:"penalty_scale" json:"penalty_scale" default:"absolute" choices:"absolute,relative" also:"damping_scale,scale" help:"What solver.damping and solver.sparsity are measured by. absolute: they are weights as they stand, in the units of the operator, which depend on wavelet, grid and number of traces; lsm check --dot-test says what they amount to. relative: damping by the largest singular value of the operator and sparsity by the largest value of the migrated image, which are estimated at the price of up to 10 iterations: damping 0.1 is strong, 0.001 weak; with sparsity 1 the image is zero. Not with streamed traces."`
	Reproducible      string  `toml:"reproducible" json:"reproducible" default:"ranks" choices:"off,run,ranks" also:"deterministic,reproducibility" help:"off: sums in any order. run: same ranks, same hardware, same bits. ranks: the same bits for any number of ranks and threads and any process grid."`
	Start             Path    `toml:"start" json:"start" default:"" example:"start.h5" also:"x0,initial,start_model" help:"Image file used as the start model. Empty: start from zero."`
	Sparsity          float64 `toml:"sparsity" json:"sparsity" with:"solver.method=ista|fista" default:"0.0" range:"[0,1e15]" also:"eps,l1,threshold" help:"Weight e of the l1 norm in ista and fista: |A m - data|^2 / 2 + e |m|_1 is minimised, in units of solver.penalty_scale. Unused by the other methods."`
	Orthogonalize     int     `toml:"orthogonalize" json:"orthogonalize" with:"!solver.method=matching" default:"20" range:"[0,10000]" also:"reorthogonalize,orthogonalise" help:"Number of past gradients that cgls keeps and makes every later one orthogonal to. In single precision this saves the iterations that rounding would waste; each costs the memory of one image. 0: none."`
	TrueResidualEvery int     `toml:"true_residual_every" json:"true_residual_every" with:"!solver.method=matching" default:"10" range:"[0,1e6]" also:"residual_every" help:"How often the residual is computed afresh from the data instead of by recurrence, at the price of one forward. 0: never."`
	Preconditioner    string  `toml:"preconditioner" json:"preconditioner" default:"none" choices:"none,diagonal,two-level" also:"precondition,precon" help:"diagonal: the solver works on the image times the root of the diagonal of A'A, found exactly in one pass, so that poorly lit parts converge as fast as others. For cg, cgls and lsqr. two-level: what A'A does to wavenumbers is undone in windows of the image, as one application to noise shows it, and on a coarser grid, on which A'A is inverted approximately in every iteration: fewer but dearer iterations. For cgls."`
	CoarseFactor      int     `toml:"coarse_factor" json:"coarse_factor" with:"solver.preconditioner=two-level" default:"0" range:"[0,100]" also:"coarsening" help:"two-level: points of the image for one of the coarser grid along each axis; 1: no coarser grid. 0: by the velocity and the wavelet, about three points for a wavelength of the image."`
	CoarseIterations  int     `toml:"coarse_iterations" json:"coarse_iterations" with:"solver.preconditioner=two-level" default:"8" range:"[1,1000]" help:"two-level: iterations on the coarser grid in each of the solver's."`
	Regularization    string  `toml:"regularization" json:"regularization" default:"none" choices:"none,gradient,laplacian,dip" also:"regularisation,smoothing" help:"R of the term r^2 |R m|^2 that is added to what is minimised, with derivatives in grid steps. gradient: first derivatives. laplacian: the sum of the second. dip: first derivatives along the layers, whose dips are measured on the migrated image. Needs regularization_weight."`
	RegWeight         float64 `toml:"regularization_weight" json:"regularization_weight" default:"0.0" range:"[0,1e6]" also:"regularisation_weight,reg_weight,epsilon_r" help:"Weight r of the regularization, relative to the root of the largest eigenvalue of A'A, which is estimated at the price of up to 10 iterations: 0.5 smooths strongly, 0.02 hardly."`
	Backtracking      bool    `toml:"backtracking" json:"backtracking" with:"solver.method=ista|fista" default:"false" also:"line_search" help:"ista and fista find their step by halving it until the model of the misfit holds (Beck and Teboulle 2009), instead of from the estimated largest eigenvalue."`
	Window            []int   `toml:"matching_window" json:"matching_window" with:"solver.method=matching" default:"[]" example:"[40, 40]" range:"[1,)" len:"0,2,3" also:"window" help:"matching: about how many points along each axis lie between the centres of the filters. []: a twentieth of the image, or two lengths of a filter where that is more."`
	Filter            []int   `toml:"matching_filter" json:"matching_filter" with:"solver.method=matching" default:"[]" example:"[5, 11]" range:"[1,)" len:"0,2,3" also:"filter" help:"matching: length of each filter along each axis in points, odd. []: 5 along x and y, 11 along z."`
}

// Checkpoint is the section [checkpoint].
type Checkpoint struct {
	Minutes    float64 `toml:"minutes" json:"minutes" default:"10.0" unit:"minutes" range:"[0,1e9]" also:"interval,every" help:"Time between checkpoints. 0: never by the clock."`
	Iterations int     `toml:"iterations" json:"iterations" default:"0" range:"[0,1e6]" also:"every_iterations" help:"A checkpoint every so many iterations as well. 0: never by the count."`
	TimeLimit  float64 `toml:"time_limit" json:"time_limit" default:"0.0" unit:"minutes" range:"[0,1e9]" also:"walltime,max_minutes" help:"Time after which the run stops with a checkpoint (exit status 75), such as the batch job's less a margin. 0: none."`
	Folder     Path    `toml:"folder" json:"folder" default:"checkpoints" also:"directory,dir,path,file" help:"Folder of the checkpoint files; made if missing."`
}

// Output is the section [output].
type Output struct {
	File       Path  `toml:"file" json:"file" default:"image.h5" also:"image,path,name" help:"Image file (HDF5, format lsm-image): image, history, resolved configuration and provenance."`
	Adjoint    Path  `toml:"adjoint" json:"adjoint" default:"" example:"migrated.h5" also:"migration,migrated" help:"Image file for the plain Kirchhoff image, the adjoint applied to the data, as well. Empty: not written."`
	Residual   Path  `toml:"residual" json:"residual" default:"" example:"residual.h5" also:"residuals,data_residual" help:"Survey file for the residual, recorded minus predicted data, as well. Empty: not written."`
	PSF        Path  `toml:"psf" json:"psf" default:"" example:"psf.h5" also:"point_spread,resolution" help:"Image file for point-spread functions as well: A'A applied to single points output.psf_spacing apart. Empty: not written."`
	PSFSpacing []int `toml:"psf_spacing" json:"psf_spacing" with:"output.psf" default:"[]" example:"[50, 50]" range:"[1,)" len:"0,2,3" help:"Image points along each axis between the points of output.psf. []: four wavelengths."`
}

// Machine is the section [machine].
type Machine struct {
	Threads   int     `toml:"threads" json:"threads" default:"0" range:"[0,65536]" also:"nthreads,cores,cpus,workers" help:"Threads of each rank. 0: all processors that the rank may use."`
	MemoryGiB float64 `toml:"memory_gib" json:"memory_gib" default:"0.0" unit:"GiB" range:"[0,1e9]" also:"memory,memory_gb,ram" help:"Memory that each rank may fill. 0: what the machine has."`
}
