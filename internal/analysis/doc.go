// Package analysis is velocity analysis with files: from an image with gathers by offset to
// picks, from picks to a new velocity model, and the loop of migration, picks and model. Its
// computations are in packages moveout and tomography.
package analysis
