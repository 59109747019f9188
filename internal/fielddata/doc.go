// Package fielddata turns recorded files (SEG-Y, SU) into a survey and back.
//
// An import reads its files twice. [Read] goes through all headers and samples and
// keeps some hundred bytes a trace: where its source and receiver are, how it is
// sampled, and what is wrong with it. From these it makes the geometry: distinct
// places, the line that a 2-D survey is projected onto, one window of time. Then
// [Import.Write] streams the samples into the survey file, so that files may be
// larger than the memory.
//
// Positions and static corrections come from the headers, or from a source that knows them by
// numbers of the header ([Options].Navigation, package io/navigation).
//
// Every trace ends up in the survey or in [Import.Left] with the reason.
//
// Lengths in files may be feet; here everything is in metres and seconds, z down.
// East and north stand for the x and y of the headers, whatever map they are from.
package fielddata
