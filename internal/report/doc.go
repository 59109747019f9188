// Package report makes one HTML page of a least-squares migration: what was run
// and how it went, its images, spectra, convergence, gathers, times, settings
// and origin.
//
// The page is one file that needs nothing else: pictures are data URIs, there is no
// script, and its content security policy forbids the browser to fetch anything. It is XML as well as HTML, follows the
// reader's choice of a light or dark screen, and prints in black on white.
//
// Whatever is not known of a run is left out, with a line that says which
// option or key would bring it. Texts from files are escaped by html/template
// and freed of what no page may hold. The same run gives the same bytes.
package report
