package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"testing"
)

// replaced puts other bytes in the place of some, wherever they are in a file.
func replaced(path string, old, new []byte) func(t *testing.T) {
	return func(t *testing.T) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(content, old) {
			t.Fatalf("%s: % x is not in it", path, old)
		}
		put(t, path, string(bytes.ReplaceAll(content, old, new)))
	}
}

func float64Bytes(v float64) []byte {
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
}

// badDigests are files whose numbers are all plausible, and not those that were written.
func badDigests() []bad {
	says := func(what string) string { return `(?m)^lsm: ` + what + `: differs from its sha256 attribute` }
	const table = " --set traveltime.method=table --set traveltime.file=times.h5"
	return []bad{
		{"a bit of a trace flipped", flip("survey.h5", "/data"),
			readers + "; plot survey.h5 --shot 1; compare survey.h5 survey.h5; export survey.h5 -o x.sgy; info --range survey.h5; info --verify survey.h5; run config.toml --set data.read=stream --set kirchhoff.engine=cpu",
			inputFault, says(`survey\.h5: /data`)},
		{"a bit of a position flipped", flip("survey.h5", "/receivers"),
			readers + "; traveltime config.toml; plot survey.h5; info survey.h5; velocity survey.h5 -o m.h5 --at 0:1500 --depth 500 --spacing 5", inputFault, says(`survey\.h5: /receivers`)},
		{"a bit of the wavelet flipped", flip("survey.h5", "/wavelet"), readers, inputFault, says(`survey\.h5: /wavelet`)},
		{"a bit of a velocity flipped", flip("model.h5", "/velocity"),
			readers + "; plot model.h5; compare model.h5 model.h5; export model.h5 -o x.sgy; info model.h5; synth --model model.h5 -o d", inputFault, says(`model\.h5: /velocity`)},
		{"a bit of an image flipped", flip("reflectivity.h5", "/image"),
			"run config.toml --set solver.start=reflectivity.h5; model config.toml --reflectivity reflectivity.h5; plot reflectivity.h5; compare reflectivity.h5 reflectivity.h5; export reflectivity.h5 -o x.sgy; info reflectivity.h5; report reflectivity.h5 -o r.html",
			inputFault, says(`reflectivity\.h5: /image`)},
		{"a bit of a table flipped", flip("times.h5", "/receiver_time"),
			"run config.toml" + table + "; check config.toml" + table + "; info --verify times.h5", inputFault, says(`times\.h5: /receiver_time`)},
		{"another dt", replaced("survey.h5", float64Bytes(0.004), float64Bytes(0.005)), readers + "; traveltime config.toml; info survey.h5; plot survey.h5",
			inputFault, `(?m)^lsm: survey\.h5: /data: attributes differ from the attribute sha256_attributes`},
		{"another spacing", replaced("model.h5", float64Bytes(10), float64Bytes(20)), readers + "; info model.h5",
			inputFault, `(?m)^lsm: model\.h5: /velocity: attributes differ from the attribute sha256_attributes`},
		{"t0 gone", replaced("survey.h5", []byte("\x00t0\x00"), []byte("\x00t1\x00")), readers, inputFault, `^lsm: survey\.h5: /data@t0: attribute is missing, it was there when the file was written`},
		{"a dataset gone", both(with("survey.h5", listSurvey), replaced("survey.h5", []byte("source_index\x00"), []byte("source_indey\x00"))), readers, inputFault, `source_index: is missing, it was there when the file was written`},
	}
}
