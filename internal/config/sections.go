package config

// Config is a complete configuration: every key has a value, checked against
// its range and against the other keys. Treat it as immutable.
type Config struct {
	Survey     Survey     `toml:"survey" json:"survey" help:"The recorded data: geometry, traces and wavelet."`
	Data       Data       `toml:"data" json:"data" help:"Which of the recorded traces are used, and how much each sample counts in the least-squares solve."`
	Velocity   Velocity   `toml:"velocity" json:"velocity" help:"The velocity model: exactly one of file and constant."`
	Image      Image      `toml:"image" json:"image" help:"The grid of the image: all three of origin, spacing and shape, each with 2 values (x, z) or 3 values (x, y, z), or none of them for the velocity model's own grid. A constant velocity has no grid, so they are required with velocity.constant."`
	Traveltime Traveltime `toml:"traveltime" json:"traveltime" help:"Where the one-way traveltimes from sources and receivers to the image points come from."`
	Kirchhoff  Kirchhoff  `toml:"kirchhoff" json:"kirchhoff" help:"The modelling operator and its exact adjoint."`
	Comm       Comm       `toml:"comm" json:"comm" help:"How the ranks of a parallel run share the work and talk to each other."`
	Solver     Solver     `toml:"solver" json:"solver" help:"The least-squares solver."`
	Checkpoint Checkpoint `toml:"checkpoint" json:"checkpoint" help:"When the state of a run is saved, so that --resume can continue it."`
	Output     Output     `toml:"output" json:"output" help:"The files that a run writes."`
	Machine    Machine    `toml:"machine" json:"machine" help:"The part of the machine that each rank may use."`

	path    string // of the file, as given
	origins map[string]origin
	notes   []Problem
}

// Survey is the section [survey].
type Survey struct {
	File  Path   `toml:"file" json:"file" required:"yes" example:"survey.h5" also:"data,path,survey" help:"Survey file (HDF5, format lsm-survey): source and receiver positions, traces, wavelet."`
	Units string `toml:"units" json:"units" default:"auto" choices:"auto,si" help:"auto: refuse a survey that does not look as if it were in m and s. A sampling interval above 0.1 s looks like ms; positions that all lie within half of the shortest wavelength look like km. si: take the survey as it stands, in m and s."`
}

// Data is the section [data].
type Data struct {
	Offset      []float64 `toml:"offset" json:"offset" order:"sorted" default:"[]" example:"[0.0, 3000.0]" unit:"m" range:"[0,)" len:"0,2" also:"offsets,offset_range,max_offset" help:"Smallest and largest horizontal distance between source and receiver. Traces outside this range are not used. []: all."`
	Azimuth     []float64 `toml:"azimuth" json:"azimuth" order:"sorted" default:"[]" example:"[0.0, 45.0]" unit:"degrees" range:"[-360,360]" len:"0,2" also:"azimuths,azimuth_range" help:"Range of the direction from source to receiver, measured from the y axis towards the x axis. Traces outside this range are not used. A trace and its reverse count alike; a trace without offset lies in every range. 3-D only. []: all."`
	Dead        string    `toml:"dead" json:"dead" default:"mask" choices:"mask,keep" also:"dead_traces" help:"Traces whose samples are all zero. mask: give them weight 0, as if they had not been recorded. keep: use them as data that are zero."`
	Weights     string    `toml:"weights" json:"weights" default:"none" choices:"none,survey,rms" also:"weighting,trace_weights" help:"Weight w of each trace, in migration and in the solve, which minimises |w (A m - data)|^2. none: 1. survey: the survey's dataset /weight, [ntrace] or [ns, nr]. rms: 1 over the root mean square of what the mute leaves of the trace, scaled so that the mean of the weights above 0 is 1."`
	MuteOffsets []float64 `toml:"mute_offsets" json:"mute_offsets" order:"ascending" default:"[]" example:"[0.0, 3000.0]" unit:"m" range:"[0,)" len:"any" also:"mute_offset,mute" help:"Offsets of the mute's corners, ascending. The mute is linear between them and constant beyond them. []: no mute."`
	MuteTimes   []float64 `toml:"mute_times" json:"mute_times" default:"[]" example:"[0.1, 2.1]" unit:"s" len:"any" also:"mute_time" help:"Time at each of data.mute_offsets. Samples before it have weight 0."`
	MuteTaper   float64   `toml:"mute_taper" json:"mute_taper" with:"data.mute_offsets" default:"0.05" unit:"s" range:"[0,)" also:"taper" help:"Time over which the mute's weight rises from 0 to 1, as a cosine."`
	Whiten      float64   `toml:"whiten" json:"whiten" traces:"once" default:"0.0" range:"[0,1]" also:"whitening,spiking,deconvolution" help:"Flatten the wavelet's amplitude spectrum, in the data and in the operator alike. Both are divided by sqrt(|W|^2 + e^2 max|W|^2), where W is the spectrum of the wavelet (the filtered one with kirchhoff.wavelet_filter) and e is this value. 0: do not whiten. 0.1 is a good value for clean data. Not for lsm model."`
	Read        string    `toml:"read" json:"read" default:"auto" choices:"auto,memory,stream" also:"streaming,stream,out_of_core" help:"memory: each rank holds all of its traces. stream: each rank reads them shot by shot, ahead of the computation, whenever a gradient needs them; the solve then holds images only. Streaming needs method cg or cgls, and not engine reference. To a GPU traces are copied while it works on those before. auto: stream where the traces do not fit into machine.memory_gib or into the memory that is free on the GPU, or only fit with recomputed tables. The two agree to rounding; choose one of them for the same bits everywhere."`
}

// Velocity is the section [velocity].
type Velocity struct {
	File     Path    `toml:"file" json:"file" default:"" example:"model.h5" live:"yes" also:"model,path" help:"File with the dataset /velocity, shape [nx, (ny,) nz], in velocity.units, with the attributes origin and spacing in m. It may be the survey file. Empty: use velocity.constant."`
	Constant float64 `toml:"constant" json:"constant" default:"0.0" example:"2000.0" unit:"m/s" range:"[0,)" also:"velocity,value,v" help:"One velocity everywhere, in velocity.units. 0: use velocity.file."`
	Units    string  `toml:"units" json:"units" default:"auto" choices:"auto,m/s,km/s,ft/s" also:"unit" help:"Units of the velocities; they are converted to m/s. auto: the attribute units of /velocity, or m/s where there is none; velocities that do not look like it, such as all below 20, are refused. m/s: take them as they stand. An attribute that contradicts this key is an error."`
}

// Image is the section [image]. All lists are empty, or all have 2 or 3 values.
type Image struct {
	Origin  []float64 `toml:"origin" json:"origin" default:"[]" example:"[0.0, 0.0]" unit:"m" len:"0,2,3" also:"start,o" help:"Position of the first image point, in the column order x z or x y z; z points down."`
	Spacing []float64 `toml:"spacing" json:"spacing" default:"[]" example:"[10.0, 10.0]" unit:"m" range:"(0,)" len:"0,2,3" also:"dx,d,step,sampling" help:"Distance between neighbouring image points along each axis."`
	Shape   []int     `toml:"shape" json:"shape" default:"[]" example:"[401, 301]" range:"[1,)" len:"0,2,3" also:"n,size,points" help:"Number of image points along each axis."`

	Surface      string    `toml:"surface" json:"surface" default:"none" choices:"none,survey,file" also:"topography,mute_above" help:"Topography; the image is zero above it. none: no topography. survey: through the positions of sources and receivers, without those buried below the others; linear in 2-D, smooth in 3-D. file: read from image.surface_file. The velocity model must continue above the surface with the values just below it."`
	SurfaceFile  Path      `toml:"surface_file" json:"surface_file" with:"image.surface=file" default:"" example:"surface.h5" also:"topography_file" help:"HDF5 file with the dataset /surface, [nx] or [nx, ny]: z of the surface in m, linear between points, with the attributes origin and spacing of its horizontal axes. It must cover the image."`
	SurfaceTaper float64   `toml:"surface_taper" json:"surface_taper" with:"image.surface=survey|file" default:"0.0" unit:"m" range:"[0,)" help:"Depth below the surface over which the image's weight rises from 0 to 1, as a cosine."`
	Gathers      string    `toml:"gathers" json:"gathers" default:"none" choices:"none,offset,angle" also:"gather,common_image_gathers" help:"Images by class in addition to the image. offset: one class for each interval of offsets; traces outside all intervals are not used. angle: one class for each range of opening angles between the rays of source and receiver at the image point, at the cost of one operator per class. Migration and solve make the same gathers. A migrated image is the sum of its classes. In a solve every class explains its part of the data by an image of its own, and the image is their mean. What is in no class is not in the image."`
	GatherBins   []float64 `toml:"gather_bins" json:"gather_bins" with:"image.gathers=offset|angle" order:"ascending" default:"[]" example:"[0.0, 500.0, 1000.0]" unit:"m or degrees" range:"[0,)" len:"any" also:"bins,offset_bins,angle_bins" help:"offset: ascending limits of the intervals, in m. angle: ascending centres of the classes, in degrees; a contribution between two centres is shared by both classes."`
	GatherEnds   string    `toml:"gather_ends" json:"gather_ends" with:"image.gathers=angle" default:"closed" choices:"closed,open" also:"bin_ends,open_bins" help:"Where the first and the last class of opening angles end. closed: half a class's width beyond their centres, tapered as between classes; narrower and wider angles are in no class. open: at 0 and 180 degrees. Every angle is then in a class, and the migrated image is that of a run without gathers."`
}

// Traveltime is the section [traveltime].
type Traveltime struct {
	Method string    `toml:"method" json:"method" traces:"same" default:"eikonal" also:"mode,type" help:"{choices}"`
	Margin []float64 `toml:"margin" json:"margin" with:"kirchhoff.aperture" default:"[]" example:"[1500.0]" unit:"m" range:"[0,)" len:"0,1" scalar:"yes" help:"How far beyond the image points that a place needs the eikonal equation is solved, so that rays may leave their neighbourhood and return. []: half the largest aperture. Without kirchhoff.aperture the whole model is solved."`
	File   Path      `toml:"file" json:"file" with:"traveltime.method:tables" default:"" example:"times.h5" also:"table,tables,path" help:"Table file (HDF5, format lsm-tables). Method table needs it, the other methods do not read it."`
}

// Kirchhoff is the section [kirchhoff].
type Kirchhoff struct {
	Engine        string    `toml:"engine" json:"engine" default:"auto" choices:"auto" also:"device" help:"What computes. auto: cpu, or the GPU where there is one that is faster. A sample of the survey is timed on both before the run, which takes about a second. What the GPU has no memory for is computed by the cpu; a resumed run keeps the engine of its checkpoint. {choices} cuda and hip are an error where there is no such GPU; they were tested on an emulated one only, not on a real one."`
	Dynamic       bool      `toml:"dynamic" json:"dynamic" traces:"same" default:"false" also:"amplitudes,weights" help:"true: amplitude weights A = 2 cos(theta) b_s b_r / v, for geometrical spreading and obliquity. false: A = 1."`
	WaveletFilter bool      `toml:"wavelet_filter" json:"wavelet_filter" traces:"same" default:"false" also:"wavfilter,filter,half_derivative" help:"Filter the wavelet by a half derivative in 2-D, a derivative in 3-D, so that a stacked reflector keeps the wavelet's shape."`
	Tables        string    `toml:"tables" json:"tables" default:"auto" choices:"auto,full,uint16,coarse,recompute" also:"table_mode,times" help:"How the traveltime tables are kept while the solver runs. full: all in memory. uint16: all in memory, with times in 16 bits; times are within dt/2048 for a trace (more where the times of neighbouring points are many samples apart), and without dynamic the tables take half the memory. coarse: every second point of each axis in memory; the rest is interpolated when needed (cubic, T over distance). recompute: as many as fit into machine.memory_gib at a time, computed again in every application. auto: full where they fit, else uint16 where that fits, else recompute. The reference engine has full only. On a GPU, what fits is what fits into the memory that is free there."`
	AngleLimit    []float64 `toml:"angle_limit" json:"angle_limit" traces:"same" with:"kirchhoff.dynamic=true" default:"[72.0, 90.0]" unit:"degrees" range:"[0,180]" len:"0,1,2" scalar:"yes" also:"angleaperture,max_angle" help:"Largest angle between ray and vertical at the image point, for source and receiver: the angle where the taper starts and the angle where the weight becomes 0. A single value g means [0.8 g, g]; [] means no limit. Acts only with dynamic = true."`
	Spreading     string    `toml:"spreading" json:"spreading" traces:"same" with:"kirchhoff.dynamic=true" default:"distance" choices:"distance,ray,ray-2.5d" also:"geometrical_spreading,amplitude" help:"The geometrical spreading b of the dynamic weights. distance: from the distance D to the image point, about D^(-1/2) in 2-D and 1/D in 3-D. ray: along the rays of the velocity model, from the transport equation, which is the same where the velocity is constant. ray-2.5d: the same for point sources over a 2-D model, 1/D where the velocity is constant (Bleistein 1986). Head waves and waves behind obstacles then count as little as they are weak. Needs times that are solved or straight, not tables from a file. Acts only with dynamic = true."`
	TakeoffLimit  []float64 `toml:"takeoff_limit" json:"takeoff_limit" traces:"same" with:"kirchhoff.dynamic=true" default:"[]" example:"[60.0, 75.0]" unit:"degrees" range:"[0,180]" len:"0,1,2" scalar:"yes" also:"take_off_limit,max_takeoff" help:"Largest angle between ray and vertical where the ray leaves source and receiver, in the form of angle_limit. Leaves out waves that start flat, such as head waves. Acts only with dynamic = true."`
	Aperture      []float64 `toml:"aperture" json:"aperture" traces:"same" default:"[]" example:"[3000.0]" unit:"m" range:"(0,)" len:"0,1,2" scalar:"yes" also:"migration_aperture,half_aperture,max_aperture,radius" help:"How far image points may lie from a trace's midpoint, halfway between source and receiver, along x (and y), for the trace to count there. A single value stands for both axes. [] means no limit. Traveltimes, tables and work are limited to that neighbourhood, so the cost of a long survey grows with its length, not with its square. Ranks over shots then hold only what their traces reach of the image."`
	ApertureTaper []float64 `toml:"aperture_taper" json:"aperture_taper" traces:"same" with:"kirchhoff.aperture" default:"[]" example:"[300.0]" unit:"m" range:"[0,)" len:"0,1" scalar:"yes" also:"taper" help:"Width of the cosine taper at the end of the aperture, at most the aperture itself. []: a tenth of the aperture."`
	DipLimit      []float64 `toml:"dip_limit" json:"dip_limit" traces:"same" default:"[]" example:"[50.0, 60.0]" unit:"degrees" range:"[0,180]" len:"0,1,2" scalar:"yes" also:"dip,max_dip,aperture_dip" help:"Largest dip of a reflector that a pair of rays may illuminate at an image point; the dip comes from the sum of their slowness vectors. The values are the dip where the taper starts and the dip where the weight becomes 0. A single value g means [0.8 g, g]; [] means no limit."`
	OpeningLimit  []float64 `toml:"opening_limit" json:"opening_limit" traces:"same" default:"[]" example:"[80.0, 100.0]" unit:"degrees" range:"[0,180]" len:"0,1,2" scalar:"yes" also:"opening,max_opening,opening_angle" help:"Largest angle between the rays of source and receiver at an image point, in the same form."`
	Antialias     string    `toml:"antialias" json:"antialias" traces:"same" default:"off" choices:"off,triangle" also:"anti_alias,antialiasing,anti_aliasing" help:"off: no anti-aliasing. triangle: smooth a trace by a triangle where its time at an image point changes much with the horizontal position from trace to trace, so that steep parts of the traveltime curves do not alias. The triangle reaches to either side as far as the time changes over antialias_spacing (Lumley, Claerbout and Bevc 1994). Both directions of the operator smooth alike."`
	AliasSpacing  []float64 `toml:"antialias_spacing" json:"antialias_spacing" traces:"same" with:"kirchhoff.antialias=triangle" default:"[]" example:"[25.0]" unit:"m" range:"(0,)" len:"0,1,2" scalar:"yes" also:"alias_spacing" help:"Distance between neighbouring receivers of a shot along x (and y). []: taken from the survey, or the distance of neighbouring sources of a receiver where that is less. A single value stands for both axes. Larger values smooth more."`
}

// Comm is the section [comm].
type Comm struct {
	Backend    string  `toml:"backend" json:"backend" default:"auto" choices:"auto,self,mpi,mpi-staged,nccl,rccl" also:"type,library" help:"auto: what the launcher and the engine offer. With GPUs and more than one rank that is NCCL or RCCL where it is found; with reproducible = \"ranks\" the first iterations measure it, MPI where it takes memory of GPUs, MPI through the host, and one-sided sums, and keep the fastest on the slowest rank, which changes no bit of the result. self: one process. mpi: MPI; GPU data pass through the host unless MPI is GPU-aware. mpi-staged: MPI; GPU data always pass through the host. nccl, rccl: NCCL (engine cuda) or RCCL (engine hip) for sums between GPUs, MPI for the rest. With mpi-staged, nccl and rccl, engine auto means the GPU."`
	Grid       []int   `toml:"grid" json:"grid" default:"[0, 1]" range:"[0,1000000]" len:"2" also:"ranks,process_grid" help:"Ranks over shots and ranks over image blocks; their product is the number of ranks. 0 in one of the two places: as many as there are."`
	Fallback   string  `toml:"fallback" json:"fallback" default:"none" choices:"none,mpi" help:"What to do where backend = \"nccl\" or \"rccl\" cannot be had: the library is missing on a rank, or does not start within timeout. none: stop with an error. mpi: warn and use MPI; with engine auto and a rank without a GPU, the cpu and MPI. If the library fails later, or takes longer than timeout for a collective, all ranks make the iteration again by MPI, for which the solver keeps a copy of the vectors that an iteration changes."`
	Accumulate string  `toml:"accumulate" json:"accumulate" default:"allreduce" choices:"allreduce,onesided" also:"reduction" help:"How image and data are summed over ranks. allreduce: one all-reduce. onesided: each rank adds into the memory of the others (MPI windows), where the library offers that; with backend = \"auto\" nothing else is measured. With kirchhoff.aperture, ranks over shots send sums of images to their neighbours instead."`
	Overlap    string  `toml:"overlap" json:"overlap" default:"auto" choices:"auto,on,off" also:"nonblocking" help:"on: sum one piece of the image over the ranks while the next is computed. off: compute the whole image, then sum it. auto: with reproducible = \"ranks\", measure the first iterations with and without overlap and keep the faster, which changes no bit of the result; otherwise on."`
	Timeout    float64 `toml:"timeout" json:"timeout" default:"45.0" unit:"s" range:"[5,1e9]" also:"watchdog" help:"How long a rank that the others wait for may show no sign of work, on its processors or its GPU, before the run stops with exit status 6. A rank that dies is noticed at once. NCCL and RCCL have as long to start. With fallback = \"mpi\" a collective of theirs has as long, from when the rank's GPU has come to it, and longer for many bytes and after long kernels."`
}

// Solver is the section [solver].
type Solver struct {
	Method            string  `toml:"method" json:"method" default:"cgls" also:"type,solver,name" help:"{choices} ista and fista use solver.sparsity."`
	Iterations        int     `toml:"iterations" json:"iterations" with:"!solver.method=matching" default:"20" range:"[0,1000000]" also:"niter,iter,maxiter,max_iterations,n_iterations" help:"Iteration limit. A run that reaches it ends with exit status 0."`
	Tolerance         float64 `toml:"tolerance" json:"tolerance" with:"!solver.method=matching" default:"0.0" range:"[0,)" also:"tol,rtol,eps_stop" help:"Stop when the norm of the residual has fallen to this fraction of the norm of the data. 0: continue to the iteration limit."`
	Damping           float64 `toml:"damping" json:"damping" default:"0.0" range:"[0,1e15]" also:"damp,lambda,regularization,epsilon" help:"Weight d of the damping, in units of solver.penalty_scale: the solver minimises |A m - data|^2 + d^2 |m|^2. 0: none."`
	PenaltyScale      string  `toml:"penalty_scale" json:"penalty_scale" default:"absolute" choices:"absolute,relative" also:"damping_scale,scale" help:"Units of solver.damping and solver.sparsity. absolute: plain weights, in the units of the operator, which depend on wavelet, grid and number of traces; lsm check --dot-test says what they amount to. relative: damping in units of the largest singular value of the operator, sparsity in units of the largest value of the migrated image; both are estimated, at the cost of up to 10 iterations. Relative damping of 0.1 is strong and 0.001 is weak; with relative sparsity of 1 the image is zero. Not with streamed traces."`
	Reproducible      string  `toml:"reproducible" json:"reproducible" default:"ranks" choices:"off,run,ranks" also:"deterministic,reproducibility" help:"off: sums in any order. run: the same bits on the same ranks and hardware. ranks: the same bits for any number of ranks and threads and any process grid."`
	Start             Path    `toml:"start" json:"start" default:"" example:"start.h5" also:"x0,initial,start_model" help:"Image file used as the start model. Empty: start from zero."`
	Sparsity          float64 `toml:"sparsity" json:"sparsity" with:"solver.method:sparse" default:"0.0" range:"[0,1e15]" also:"eps,l1,threshold" help:"Weight e of the l1 norm in ista and fista, in units of solver.penalty_scale: the solver minimises |A m - data|^2 / 2 + e |m|_1. The other methods do not use it."`
	Orthogonalize     int     `toml:"orthogonalize" json:"orthogonalize" with:"!solver.method=matching" default:"20" range:"[0,10000]" also:"reorthogonalize,orthogonalise" help:"Number of past gradients that cgls keeps; it makes every new gradient orthogonal to them. In single precision this saves iterations that rounding would waste. Each gradient takes the memory of one image. 0: none."`
	TrueResidualEvery int     `toml:"true_residual_every" json:"true_residual_every" with:"!solver.method=matching" default:"10" range:"[0,1000000]" also:"residual_every" help:"Iterations between two computations of the residual from the data instead of by recurrence, at the cost of one forward each. 0: never."`
	Preconditioner    string  `toml:"preconditioner" json:"preconditioner" default:"none" choices:"none" also:"precondition,precon" help:"none: none. {choices}"`
	CoarseFactor      int     `toml:"coarse_factor" json:"coarse_factor" with:"solver.preconditioner=two-level" default:"0" range:"[0,100]" also:"coarsening" help:"two-level: image points for each point of the coarser grid, along each axis. 1: no coarser grid. 0: chosen from the velocity and the wavelet, about three points for a wavelength of the image."`
	CoarseIterations  int     `toml:"coarse_iterations" json:"coarse_iterations" with:"solver.preconditioner=two-level" default:"8" range:"[1,1000]" help:"two-level: iterations on the coarser grid in each iteration of the solver."`
	Regularization    string  `toml:"regularization" json:"regularization" default:"none" choices:"none" also:"regularisation,smoothing" help:"R of the term r^2 |R m|^2 that is added to what the solver minimises, with derivatives in grid steps. none: no such term. {choices} Needs regularization_weight."`
	RegWeight         float64 `toml:"regularization_weight" json:"regularization_weight" default:"0.0" range:"[0,1000000]" also:"regularisation_weight,reg_weight,epsilon_r" help:"Weight r of the regularization, relative to the root of the largest eigenvalue of A'A, which is estimated at the cost of up to 10 iterations. 0.5 smooths strongly, 0.02 hardly at all."`
	Backtracking      bool    `toml:"backtracking" json:"backtracking" with:"solver.method:sparse" default:"false" also:"line_search" help:"true: ista and fista find their step by halving it until the model of the misfit holds (Beck and Teboulle 2009). false: they take it from the estimated largest eigenvalue."`
	Window            []int   `toml:"matching_window" json:"matching_window" with:"solver.method=matching" default:"[]" example:"[40, 40]" range:"[1,)" len:"0,2,3" also:"window" help:"matching: approximate number of points between the centres of two filters, along each axis. []: a twentieth of the image, or two lengths of a filter where that is more."`
	Filter            []int   `toml:"matching_filter" json:"matching_filter" with:"solver.method=matching" default:"[]" example:"[5, 11]" range:"[1,)" len:"0,2,3" also:"filter" help:"matching: length of each filter in points along each axis, odd. []: 5 along x and y, 11 along z."`
}

// Checkpoint is the section [checkpoint].
type Checkpoint struct {
	Minutes    float64 `toml:"minutes" json:"minutes" default:"10.0" unit:"minutes" range:"[0,1e9]" also:"interval,every" help:"Time between checkpoints. 0: none by the clock."`
	Iterations int     `toml:"iterations" json:"iterations" default:"0" range:"[0,1000000]" also:"every_iterations" help:"Number of iterations between checkpoints, in addition to those by the clock. 0: none by the count."`
	TimeLimit  float64 `toml:"time_limit" json:"time_limit" default:"0.0" unit:"minutes" range:"[0,1e9]" also:"walltime,max_minutes" help:"Time after which the run stops with a checkpoint (exit status 75), such as the batch job's limit less a margin. 0: none."`
	Folder     Path    `toml:"folder" json:"folder" default:"checkpoints" also:"directory,dir,path,file" help:"Folder of the checkpoint files. It is made if it is missing."`
}

// Output is the section [output].
type Output struct {
	File       Path  `toml:"file" json:"file" default:"image.h5" also:"image,path,name" help:"Image file (HDF5, format lsm-image): image, history, resolved configuration and provenance."`
	Adjoint    Path  `toml:"adjoint" json:"adjoint" default:"" example:"migrated.h5" also:"migration,migrated" help:"Image file for the plain Kirchhoff image, the adjoint applied to the data. Empty: not written."`
	Residual   Path  `toml:"residual" json:"residual" default:"" example:"residual.h5" also:"residuals,data_residual" help:"Survey file for the residual, recorded minus predicted data. Empty: not written."`
	PSF        Path  `toml:"psf" json:"psf" default:"" example:"psf.h5" also:"point_spread,resolution" help:"Image file for point-spread functions: A'A applied to single points that lie output.psf_spacing apart. Empty: not written."`
	PSFSpacing []int `toml:"psf_spacing" json:"psf_spacing" with:"output.psf" default:"[]" example:"[50, 50]" range:"[1,)" len:"0,2,3" help:"Image points along each axis between the points of output.psf. []: four wavelengths."`
}

// Machine is the section [machine].
type Machine struct {
	Threads   int     `toml:"threads" json:"threads" default:"0" range:"[0,65536]" also:"nthreads,cores,cpus,workers" help:"Threads of each rank. 0: one for each processor that the rank may use."`
	MemoryGiB float64 `toml:"memory_gib" json:"memory_gib" default:"0.0" unit:"GiB" range:"[0,1e9]" also:"memory,memory_gb,ram" help:"Memory that each rank may use. 0: all that the machine has."`
}
