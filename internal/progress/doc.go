// Package progress shows the user a command while it works and when it is done.
//
// One Reporter serves three readers. On a terminal there is one live line. In a batch log
// every iteration is one plain line, and longer stages report their progress now and
// then. With JSON everything is one object per line, and nothing else is printed. Results
// go to the output (Printf, Event), warnings to the error stream, once each. Only rank 0
// of a run needs a Reporter that prints; Discard serves the others.
//
// # Where the time goes
//
// Every rank books its time in sections (Time, Stage), which lie inside each
// other. Ranks exchange nothing while the run lasts. At its end each rank hands over its
// Account, and the rank that prints shows least, mean and greatest of each section
// (Closing). On request it writes the work of each rank with its times, as a file for a
// trace viewer (KeepTrace, WriteTrace).
//
// # Events
//
//	{"event":"stage","stage":"traveltimes","state":"begin"}
//	{"event":"progress","stage":"traveltimes","done":64,"total":133,"unit":"positions"}
//	{"event":"stage","stage":"traveltimes","state":"end","seconds":1.84}
//	{"event":"iteration","stage":"solver","iteration":12,"iterations":40,
//	 "residual":0.03214,"change":-0.018,"gradient":0.0041,"adjoint":2e-06,
//	 "seconds":1.84,"eta_seconds":52}
//	{"event":"timing","section":"forward","path":["solver","forward"],"min":1.2,
//	 "avg":1.3,"max":1.4,"slowest":3,"calls":21,"percent":39.2,
//	 "percent_with_inner":41.7,"ranks":4}
//	{"event":"beside","section":"dots","path":["GPU","dots"],…}
//	{"event":"memory","max":1320702443,"rank":2,"predicted":1342177280,
//	 "bytes":[…],"predicted_bytes":[…]}
//	{"event":"warning","message":"…"}
//
// Seconds of a timing are a section's own, without those inside it; work beside them,
// such as that of a GPU by its own clock, overlaps with them. Memory is in bytes, 0 if not
// known, and the lists are by rank. Numbers that are not finite are null. A command adds
// events of its own, and the command line closes with "done" or "error".
package progress
