// Package picture draws images, velocity models, gathers, amplitudes and convergence
// histories as PNG pictures.
//
// Arrays are in C order with axis 0 horizontal and the last axis downward: a
// section is [nx, nz] in metres, a gather [ntrace, nt] in traces (or metres of
// offset) and seconds. Sample i covers the cell of one spacing around its
// coordinate, so a picture of n samples spans n cells, not n-1.
//
// An array becomes one raster with a pixel of the raster for every pixel of the picture.
// Where samples are denser than pixels they are averaged over the pixel's area (a plain
// pick of every n-th sample would alias). Where they are sparser they are interpolated
// linearly (signed images, gathers) or drawn as blocks (models). The amount of data never
// changes the size of a file.
//
// Amplitudes are clipped at a percentile of their absolute values, the 99th
// unless told otherwise, and every picture says at which value that was.
// Sections are drawn true to scale; where the shape of the section forbids
// it, the picture states the vertical exaggeration. The same input gives the
// same bytes.
package picture
