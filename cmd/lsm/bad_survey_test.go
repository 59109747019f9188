package main

import (
	"math"
	"strings"
	"testing"
)

const surveyFile = "survey.h5"

func fixed(edits ...edit) func(t *testing.T)  { return with(surveyFile, fixedSurvey, edits...) }
func listed(edits ...edit) func(t *testing.T) { return with(surveyFile, listSurvey, edits...) }

// badSurveys are files that are no survey at all.
func badSurveys() []bad {
	return []bad{
		{"survey missing", remove(surveyFile), "", inputFault, `^lsm: survey\.h5: no such file\n$`},
		{"survey is a folder", folder(surveyFile), "", inputFault, `^lsm: survey\.h5: is a folder, want an HDF5 file`},
		{"survey is text", text(surveyFile, "shot receiver\n1 2\n"), "", inputFault, `survey\.h5: is not an HDF5 file but a text file that begins with "shot receiver"`},
		{"survey is empty", text(surveyFile, ""), "", inputFault, `survey\.h5: is empty`},
		{"survey is SEG-Y", text(surveyFile, "C 1 CLIENT"+strings.Repeat(" ", 3590)), "", inputFault, `survey\.h5: is not an HDF5 file but a SEG-Y file`},
		{"survey is NumPy", text(surveyFile, "\x93NUMPY\x01\x00"), "", inputFault, `survey\.h5: .*NumPy`},
		{"survey cut to 4 bytes", cut(surveyFile, 4), "", inputFault, `survey\.h5: is not an HDF5 file but begins with bytes 89 48 44 46`},
		{"survey cut to its signature", cut(surveyFile, 8), "", inputFault, `survey\.h5: cannot be opened as HDF5, it may be damaged`},
		{"survey cut in its superblock", cut(surveyFile, 80), "", inputFault, `survey\.h5: (is cut short|cannot be opened)`},
		{"survey cut in its headers", cut(surveyFile, 900), "", inputFault, `survey\.h5: is cut short`},
		{"survey cut in its data", cut(surveyFile, -2000), "", inputFault, `survey\.h5: is cut short`},
		{"survey cut by one byte", cut(surveyFile, -1), "", inputFault, `survey\.h5: is cut short`},
		{"survey of another format", fixed(attr("/", "format", "lsm-image")), "", inputFault, `survey\.h5: @format: is "lsm-image", want "lsm-survey"`},
		{"survey format is a number", fixed(attr("/", "format", 7)), "", inputFault, `survey\.h5: @format: attribute is not one text`},
		{"survey of a newer version", fixed(attr("/", "format_version", 2)), "", inputFault, `survey\.h5: @format_version: is 2, this program reads 1 to 1`},
		{"survey version is text", fixed(attr("/", "format_version", "one")), "", inputFault, `survey\.h5: @format_version: attribute is text, want one number`},
		{"model given as survey", nil, "run config.toml --set survey.file=reflectivity.h5", inputFault, `reflectivity\.h5: @format: is "lsm-image", want "lsm-survey"`},
	}
}

// badTraces spoil /data, and what says how it is sampled.
func badTraces() []bad {
	const six = ns * nr * nt
	return []bad{
		{"no data", fixed(drop("/data")), "", inputFault, `survey\.h5: /data: is missing.*\(the file holds .*/receivers`},
		{"geometry without data", with(surveyFile, geometryOnly), "run config.toml; migrate config.toml", inputFault, `survey\.h5: dataset /data is missing\nhint: "lsm model"`},
		{"no dt", fixed(attr("/data", "dt", nil)), "", inputFault, `survey\.h5: /data@dt: attribute is missing`},
		{"dt zero", fixed(attr("/data", "dt", 0.0)), "", inputFault, `survey\.h5: survey: dt is 0 s, must be positive`},
		{"dt negative", fixed(attr("/data", "dt", -0.004)), "", inputFault, `survey\.h5: survey: dt is -0\.004 s, must be positive`},
		{"dt NaN", fixed(attr("/data", "dt", math.NaN())), "", inputFault, `survey\.h5: survey: dt is NaN s`},
		{"dt infinite", fixed(attr("/data", "dt", math.Inf(1))), "", inputFault, `survey\.h5: survey: dt is \+Inf s`},
		{"dt text", fixed(attr("/data", "dt", "4 ms")), "", inputFault, `survey\.h5: /data@dt: attribute is text, want one number`},
		{"dt of two values", fixed(attr("/data", "dt", []float64{0.004, 0.004})), "", inputFault, `survey\.h5: /data@dt: attribute has 2 values, want one number`},
		{"t0 NaN", fixed(attr("/data", "t0", math.NaN())), "", inputFault, `survey\.h5: survey: t0 is NaN s, must be finite`},
		{"one sample a trace", fixed(set("/data", ramp(ns*nr), ns, nr, 1)), "", inputFault, `survey\.h5: survey: traces have 1 sample, need at least 2`},
		{"data of rank 1", fixed(set("/data", ramp(six), six)), "", inputFault, `survey\.h5: /data: has shape \[144\], want \[ns, nr, nt\] or \[ntrace, nt\]`},
		{"data of rank 4", fixed(set("/data", ramp(six), 1, ns, nr, nt)), "", inputFault, `survey\.h5: /data: has shape \[1, 2, 3, 24\], want`},
		{"data with axes swapped", fixed(set("/data", ramp(six), nr, ns, nt)), "", inputFault, `survey\.h5: /data: has shape \[3, 2, 24\], want \[ns, nr, nt\] = \[2, 3, 24\]`},
		{"data is text", fixed(set("/data", "samples")), "", inputFault, `survey\.h5: /data: holds elements of type string of any length, want floats or integers`},
		{"data is a group", fixed(set("/data", nil)), "", inputFault, `survey\.h5: /data: cannot be opened as a dataset`},
		{"NaN sample", fixed(poke("/data", nt+3, math.NaN())), "", inputFault, `survey\.h5: .*data: trace 1 has NaN at sample 3, must be finite`},
		{"infinite sample", listed(poke("/data", 3*nt, math.Inf(-1))), "", inputFault, `survey\.h5: .*data: trace 3 has -Inf at sample 0, must be finite`},
		{"sample beyond float32", fixed(set("/data", filled(six, 1e300), ns, nr, nt)), "", inputFault, `survey\.h5: .*data: trace 0 has \+Inf at sample 0`},
		{"all traces dead", fixed(set("/data", make([]float32, six), ns, nr, nt)), "", inputFault, `survey\.h5: all 6 traces are dead \(every sample is zero\)`},
		{"traces to be modelled of 1 sample", with(surveyFile, geometryOnly, attr("/", "nt", 1)), "traveltime config.toml", inputFault, `survey\.h5: survey: traces have 1 sample`},
		{"traces to be modelled of half a sample", with(surveyFile, geometryOnly, attr("/", "nt", 2.5)), "traveltime config.toml", inputFault, `survey\.h5: @nt: attribute is 2\.5, want a whole number`},
		{"traces to be modelled without dt", with(surveyFile, geometryOnly, attr("/", "dt", nil)), "model config.toml --reflectivity reflectivity.h5", inputFault, `survey\.h5: @dt: attribute is missing`},
	}
}

func badWavelets() []bad {
	return []bad{
		{"no wavelet", fixed(drop("/wavelet")), "", inputFault, `survey\.h5: /wavelet: is missing \(the file holds `},
		{"no wavelet dt", fixed(attr("/wavelet", "dt", nil)), "", inputFault, `survey\.h5: /wavelet@dt: attribute is missing`},
		{"no wavelet zero", fixed(attr("/wavelet", "zero", nil)), "", inputFault, `survey\.h5: /wavelet@zero: attribute is missing`},
		{"wavelet of another dt", fixed(attr("/wavelet", "dt", 0.002)), "", inputFault, `survey\.h5: survey: wavelet: dt is 0\.002 s, must equal the traces' dt of 0\.004 s`},
		{"wavelet zero before it", fixed(attr("/wavelet", "zero", -1)), "", inputFault, `survey\.h5: survey: wavelet: zero is sample -1, must be in \[0, 2\]`},
		{"wavelet zero after it", fixed(attr("/wavelet", "zero", 3)), "", inputFault, `survey\.h5: survey: wavelet: zero is sample 3, must be in \[0, 2\]`},
		{"wavelet zero between samples", fixed(attr("/wavelet", "zero", 1.5)), "", inputFault, `survey\.h5: /wavelet@zero: attribute is 1\.5, want a whole number`},
		{"wavelet all zero", fixed(set("/wavelet", filled(3, 0), 3)), "", inputFault, `survey\.h5: survey: wavelet: all 3 samples are zero`},
		{"wavelet NaN", fixed(poke("/wavelet", 2, math.NaN())), "", inputFault, `survey\.h5: survey: wavelet: sample 2 is NaN, must be finite`},
		{"wavelet of rank 2", fixed(set("/wavelet", filled(4, 1), 2, 2)), "", inputFault, `survey\.h5: /wavelet: has shape \[2, 2\], want \[nw\]`},
		{"wavelet is text", fixed(set("/wavelet", "ricker")), "", inputFault, `survey\.h5: /wavelet: holds elements of type string`},
	}
}

func badGeometries() []bad {
	return []bad{
		{"no sources", fixed(drop("/sources")), "", inputFault, `survey\.h5: /sources: is missing \(the file holds /data, /receivers, /wavelet\)`},
		{"no receivers", fixed(drop("/receivers")), "", inputFault, `survey\.h5: /receivers: is missing`},
		{"sources of rank 1", fixed(set("/sources", filled(4, 1), 4)), "", inputFault, `survey\.h5: /sources: has shape \[4\], want \[n, 2\] \(columns x z\) or \[n, 3\]`},
		{"sources of 4 columns", fixed(set("/sources", filled(8, 1), 2, 4)), "", inputFault, `survey\.h5: /sources: has shape \[2, 4\], want \[n, 2\]`},
		{"receivers of 3 columns beside sources of 2", fixed(set("/receivers", filled(9, 1), 3, 3)), "", inputFault, `survey\.h5: /receivers: has shape \[3, 3\], want \[n, 2\] like /sources`},
		{"sources are text", fixed(set("/sources", "here and there")), "", inputFault, `survey\.h5: /sources: holds elements of type string`},
		{"NaN source", fixed(poke("/sources", 2, math.NaN())), "", inputFault, `survey\.h5: survey: source 1 has coordinate NaN, must be finite`},
		{"infinite receiver", fixed(poke("/receivers", 5, math.Inf(1))), "", inputFault, `survey\.h5: survey: receiver 2 has coordinate \+Inf, must be finite`},
		{"a source too few", fixed(set("/sources", filled(2, 5), 1, 2)), "", inputFault, `survey\.h5: /data: has shape \[2, 3, 24\], want \[ns, nr, nt\] = \[1, 3, 24\]`},
		{"no source index", listed(drop("/source_index")), "", inputFault, `survey\.h5: /source_index: is missing`},
		{"no receiver index", listed(drop("/receiver_index")), "", inputFault, `survey\.h5: /receiver_index: is missing`},
		{"indices beside a fixed spread", fixed(set("/source_index", []int32{0}, 1)), "", inputFault, `survey\.h5: /data: has shape \[2, 3, 24\], every pair .* must not be there`},
		{"source index too short", listed(set("/source_index", []int32{0, 1, 0}, 3)), "", inputFault, `survey\.h5: /source_index: has shape \[3\], want \[ntrace\] = \[4\]`},
		{"receiver index too long", listed(set("/receiver_index", []int32{0, 1, 0, 1, 0}, 5)), "", inputFault, `survey\.h5: /receiver_index: has shape \[5\], want \[ntrace\] = \[4\]`},
		{"source index of rank 2", listed(set("/source_index", []int32{0, 1, 0, 1}, 2, 2)), "", inputFault, `survey\.h5: /source_index: has shape \[2, 2\], want \[ntrace\]`},
		{"source index too large", listed(poke("/source_index", 2, ns)), "", inputFault, `survey\.h5: survey: source_index of trace 2 is 2, must be in \[0, 1\]`},
		{"receiver index negative", listed(poke("/receiver_index", 3, -1)), "", inputFault, `survey\.h5: survey: receiver_index of trace 3 is -1, must be in \[0, 2\]`},
		{"index between rows", listed(set("/source_index", []float64{0, 0.5, 1, 0}, 4)), "", inputFault, `survey\.h5: /source_index: .*0\.5.*whole numbers`},
		{"index beyond int32", listed(set("/source_index", []float64{0, 3e9, 1, 0}, 4)), "", inputFault, `survey\.h5: /source_index: .*3e\+09.*too large`},
		{"index is text", listed(set("/receiver_index", "all")), "", inputFault, `survey\.h5: /receiver_index: holds elements of type string`},
		{"source outside the model", fixed(poke("/sources", 2, 120)), "", inputFault,
			`survey\.h5: source 1 at \(120, 0\) m lies outside the velocity model, x \[0, 50\] × z \[0, 40\] m .*\nhint: extend the velocity model`},
		{"receiver above the model", fixed(poke("/receivers", 3, -3)), "", inputFault, `survey\.h5: receiver 1 at \(25, -3\) m lies outside the velocity model`},
	}
}
