// Package view shows images, models, gathers, surveys and traveltime tables in a browser.
//
// A [Server] answers on the loopback interface only. The page is made by the files in web,
// which the program carries, and by Leaflet (BSD 2-clause licence, web/leaflet/LICENSE), which
// pans, zooms and keeps tiles. Every tile is a [Window] of an [Array]: of the file only the
// numbers that the tile shows are read, at most four along each axis for a pixel. A [Profile] is
// read as a line, whole.
//
// Whoever can reach the port is not yet allowed to look. The address that the program prints
// holds a token that is good for one visit; the browser then has a cookie. Requests by other
// names than 127.0.0.1 or localhost are refused, so that no page of a stranger reaches the
// server under a name of its own.
package view
