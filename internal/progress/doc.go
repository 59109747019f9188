// Package progress is what a user sees of a command while it works and when it
// is done.
//
// One Reporter serves three readers. On a terminal there is one live line; in a
// batch log every iteration is one plain line, and longer stages say now and
// then how far they are; with JSON everything is one object a line, and nothing
// else is printed. Results go to the output (Printf, Event), warnings to the
// error stream, once each. Only rank 0 of a run needs a Reporter that prints;
// Discard serves the others.
//
// # Events
//
//	{"event":"stage","stage":"traveltimes","state":"begin"}
//	{"event":"progress","stage":"traveltimes","done":64,"total":133,"unit":"positions"}
//	{"event":"stage","stage":"traveltimes","state":"end","seconds":1.84}
//	{"event":"iteration","stage":"solver","iteration":12,"iterations":40,
//	 "residual":0.03214,"change":-0.018,"gradient":0.0041,"adjoint":2e-06,
//	 "seconds":1.84,"eta_seconds":52}
//	{"event":"timing","section":"solver","min":1.2,"avg":1.3,"max":1.4,"percent":81.2}
//	{"event":"warning","message":"…"}
//
// Numbers that are not finite are null. A command adds events of its own, and
// the command line closes with "done" or "error".
package progress
