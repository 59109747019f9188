// Package gpu implements [device.Device] on a GPU: vectors stay on the card and are
// processed there.
//
// Operations run in order on one stream. Only copies to and from the host, Dots and Sync
// wait for the card, and they return its errors. Element-wise operations round as those
// of the host do. Sums depend only on the lengths of the vectors, not on the card's size
// or on timing.
//
// Freed memory is kept for the next buffer of the same size, so a solver's scratch needs
// no call of the driver. A buffer that is no longer reachable counts as freed. Before an
// allocation fails for lack of memory, all kept memory goes back to the driver.
package gpu
