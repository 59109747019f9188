package provenance

import (
	"reflect"
	"testing"
	"time"
)

func TestEpoch(t *testing.T) {
	for text, want := range map[string]struct {
		at       int64
		set, bad bool
	}{
		"":             {},
		"0":            {at: 0, set: true},
		"1700000000":   {at: 1700000000, set: true},
		"253402300799": {at: 253402300799, set: true},
		"253402300800": {set: true, bad: true},
		"-1":           {set: true, bad: true},
		"1.5":          {set: true, bad: true},
		"now":          {set: true, bad: true},
	} {
		t.Setenv("SOURCE_DATE_EPOCH", text)
		at, set, err := Epoch()
		if set != want.set || (err != nil) != want.bad || set && !want.bad && !at.Equal(time.Unix(want.at, 0)) {
			t.Errorf("%q: %v, %v, %v; want %+v", text, at, set, err, want)
		}
	}
}

// Under SOURCE_DATE_EPOCH a record holds what bits depend on and nothing of who made
// them where and when.
func TestTimeless(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "")
	r := full()
	if r.Timeless(true); !reflect.DeepEqual(r, full()) {
		t.Errorf("without an epoch it became %+v", r)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	if n := New("run"); n.Host != "" || !n.Started.Equal(time.Unix(1700000000, 0)) {
		t.Errorf("made on %q at %v", n.Host, n.Started)
	}
	some := full()
	some.Threads = 0
	if r.Timeless(false); !reflect.DeepEqual(r, some) {
		t.Errorf("with bits that depend on the ranks it became %+v", r)
	}
	some.Ranks, some.Communicator, some.MPI = 0, "", ""
	if r.Timeless(true); !reflect.DeepEqual(r, some) {
		t.Errorf("with bits that do not depend on the ranks it became %+v", r)
	}
}
