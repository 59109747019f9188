// Package gpu is a GPU as a [device.Device]: vectors stay on the card, and what
// solvers do to them is done there.
//
// Operations are asked of the card in order on one stream and do not wait, but
// for copies to and from the host, Dots and Sync; an error of the card shows at
// the next of these. Element-wise operations round as the host's do. Sums do
// not depend on the card's size or on chance, but on the vectors' lengths alone.
//
// Memory that is freed is kept for the next buffer of the same size, so a
// solver's scratch costs the driver nothing; a buffer that is no longer
// reachable counts as freed. Before memory is reported short, all that is kept
// goes back to the driver.
package gpu
