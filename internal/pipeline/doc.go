// Package pipeline carries a configuration out: from the files that it names to an image. Every
// command that images a survey is a way through it. It reads in the order of a run, and files that
// belong to a stage begin with its name:
//
//	run.go         Run, the whole of lsm run: the stages in order, and the Job that holds what they made
//	ranks.go       the ranks of a run, and what they do together
//	process.go     Process: this rank among them, its hardware, its engine, what carries sums
//	read.go        Inputs: what the files say
//	geometry.go    Geometry: where traces and image lie, and which rank has which of them
//	times.go       Times: through which media, and how, traveltimes are found
//	plan.go        Plan: these together, and the operator of a share as a kirchhoff.Problem
//	memory.go      what a rank holds, and so where traces and tables are
//	traces.go      RankTraces: the samples of a rank, held or streamed
//	operator.go    Operator: the kernels of all ranks as one linear operator
//	problem.go     the least-squares problem (package formulation) of operator and traces
//	solve.go       Result: the iterations, their checkpoints, their end
//	publish.go     the files of a result
//
// These files are outside that path: apply.go, a single application of the operator, and check.go and
// forecast.go, which predict a run for lsm check without making it.
//
// A stage is a function of the values that earlier stages made. Values are not changed once they are
// made: a method that decides more returns another value. Functions below a stage take the part
// that they need, a Geometry or a Times, and seldom a Plan.
package pipeline
