package config

import (
	"slices"
	"strings"
	"testing"
)

func parsed(t *testing.T, source string, set ...string) *Config {
	t.Helper()
	c, err := Parse("config.toml", []byte(source), set, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const plain = "[survey]\nfile = \"survey.h5\"\n[velocity]\nfile = \"model.h5\"\n"

// A survey differs from a run in what shapes amplitudes, and only where it acts.
func TestDifferences(t *testing.T) {
	for _, c := range []struct {
		name      string
		made, now []string
		filtered  bool
		keys      string
	}{
		{name: "nothing"},
		{name: "rounding and place", now: []string{"kirchhoff.tables=coarse", "kirchhoff.engine=reference", "machine.threads=1", "solver.method=cg"}},
		{name: "dynamic", made: []string{"kirchhoff.dynamic=false"}, keys: "kirchhoff.dynamic"},
		{name: "dynamic now", now: []string{"kirchhoff.dynamic=false"}, keys: "kirchhoff.dynamic"},
		{name: "limit that does not act", made: []string{"kirchhoff.dynamic=false", "kirchhoff.angle_limit=60"}, now: []string{"kirchhoff.dynamic=false"}},
		{name: "limit that acts", made: []string{"kirchhoff.dynamic=true", "kirchhoff.angle_limit=60"}, now: []string{"kirchhoff.dynamic=true"}, keys: "kirchhoff.angle_limit"},
		{name: "filter and dip", made: []string{"kirchhoff.wavelet_filter=off"}, now: []string{"kirchhoff.dip_limit=40"}, keys: "kirchhoff.wavelet_filter kirchhoff.dip_limit"},
		{name: "whitening of recorded traces is the run's own", now: []string{"data.whiten=0.1"}},
		{name: "whitened before", made: []string{"data.whiten=0.1"}, filtered: true, keys: "data.whiten"},
		{name: "whitened twice", made: []string{"data.whiten=0.1"}, now: []string{"data.whiten=0.1"}, filtered: true, keys: "data.whiten"},
	} {
		t.Run(c.name, func(t *testing.T) {
			made, now := parsed(t, plain, c.made...), parsed(t, plain, c.now...)
			var keys []string
			for _, text := range now.Differences(made.Modelled(c.filtered)) {
				key, _, _ := strings.Cut(text, ": ")
				keys = append(keys, key)
				if was, is := made.Value(key), now.Value(key); !strings.Contains(text, was) || !strings.Contains(text, is) {
					t.Errorf("%q does not name %s and %s", text, was, is)
				}
			}
			if got := strings.Join(keys, " "); got != c.keys {
				t.Errorf("differs in %q, want %q", got, c.keys)
			}
		})
	}
}

// Values are compared, not their spelling; a constant velocity makes analytic times
// whatever the method is called; a key of another version is passed over.
func TestDifferencesOfSpelling(t *testing.T) {
	now := parsed(t, plain, "kirchhoff.dynamic=true")
	if d := now.Differences([]Setting{{"kirchhoff.angle_limit", "[72,90]"}, {"kirchhoff.dynamic", " true"}, {"kirchhoff.other", "1"}}); d != nil {
		t.Errorf("differs: %v", d)
	}
	constant := "[survey]\nfile = \"s.h5\"\n[velocity]\nconstant = 2000.0\n[image]\norigin = [0.0, 0.0]\nspacing = [1.0, 1.0]\nshape = [2, 2]\n"
	if d := parsed(t, constant).Differences(parsed(t, constant, "traveltime.method=analytic").Modelled(false)); d != nil {
		t.Errorf("differs: %v", d)
	}
}

// true in a survey or an image of an earlier version is the filter that it had, in a configuration it is
// the one of now.
func TestEarlierFilter(t *testing.T) {
	const key = "kirchhoff.wavelet_filter"
	for _, set := range []string{"true", "on", `"on"`} {
		if v := parsed(t, plain, key+"="+set).Value(key); v != `"on"` {
			t.Errorf("--set %s=%s: %s", key, set, v)
		}
	}
	old := plain + "[kirchhoff]\nwavelet_filter = "
	for value, want := range map[string][2]string{"true": {`"on"`, `"pylops"`}, "false": {`"off"`, `"off"`}, `"on"`: {`"on"`, `"on"`}} {
		made, err := Recorded("config.toml", []byte(old+value), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]string{parsed(t, old+value).Value(key), made.Value(key)}; got != want {
			t.Errorf("%s: %s, recorded %s, want %s", value, got[0], got[1], want)
		}
	}
	on := parsed(t, plain)
	if d := on.Differences([]Setting{{key, "true"}}); len(d) != 1 || !strings.Contains(d[0], `"pylops"`) || !strings.Contains(d[0], "opposite polarity") {
		t.Errorf("traces of an earlier version differ: %q", d)
	}
	if d := parsed(t, plain, key+"=pylops").Differences([]Setting{{key, "true"}}); d != nil {
		t.Errorf("traces of an earlier version differ: %q", d)
	}
	if d := on.Differences([]Setting{{key, "false"}}); len(d) != 1 || strings.Contains(d[0], "polarity") {
		t.Errorf("traces without a filter differ: %q", d)
	}
}

// Traces of converted waves need an operator of such waves, whatever their velocities and
// files, and no others do.
func TestDifferencesOfConvertedWaves(t *testing.T) {
	pp, ps := parsed(t, plain), parsed(t, plain, "velocity.receiver_file=s.h5")
	constant := parsed(t, plain, "velocity.receiver_constant=900")
	if d := constant.Differences(ps.Modelled(false)); d != nil {
		t.Errorf("differs: %v", d)
	}
	for want, d := range map[string][]string{
		"traces are of converted waves, those of this run of waves of one kind": pp.Differences(ps.Modelled(false)),
		"traces are of waves of one kind, those of this run of converted waves": constant.Differences(pp.Modelled(false)),
	} {
		if len(d) != 1 || !strings.HasPrefix(d[0], "velocity.receiver_file: ") || !strings.Contains(d[0], want) {
			t.Errorf("differs: %q, want %q", d, want)
		}
	}
}

// A constant velocity is turned into m/s unless velocity.units is for a file as well, and is
// the same in m/s when the resolved configuration is read again.
func TestReceiverUnits(t *testing.T) {
	image := "[image]\norigin = [0.0, 0.0]\nspacing = [1.0, 1.0]\nshape = [2, 2]\n"
	for _, set := range [][]string{
		{"velocity.file=", "velocity.constant=2", "velocity.receiver_constant=1.2", "velocity.units=km/s"},
		{"velocity.receiver_constant=1.2", "velocity.units=km/s"},
		{"velocity.file=", "velocity.constant=1.2", "velocity.receiver_file=s.h5", "velocity.units=km/s"},
	} {
		c := parsed(t, plain+image, set...)
		again := parsed(t, c.TOML())
		for _, c := range []*Config{c, again} {
			source, receiver := c.Velocity.Constants()
			if max(source, receiver) != 1200 && (source != 2000 || receiver != 1200) {
				t.Errorf("%v: %g and %g m/s", set, source, receiver)
			}
		}
	}
	for _, set := range [][]string{{"velocity.receiver_constant=1.2"}, {"velocity.receiver_constant=1e12", "velocity.units=m/s"},
		{"velocity.receiver_constant=900", "velocity.receiver_file=s.h5"}, {"velocity.receiver_file=s.h5", "traveltime.method=table", "traveltime.file=t.h5"}} {
		if _, err := Parse("config.toml", []byte(plain), set, nil); err == nil {
			t.Errorf("%v is accepted", set)
		}
	}
}

// Conditions that name a key which there is not, or a value it cannot have, never hold.
func TestConditionsExist(t *testing.T) {
	check := func(text string) {
		c := table().condition(text)
		for _, v := range c.values {
			if c.field.Choices != nil && !slices.Contains(c.field.Choices, v) {
				t.Errorf("condition %q: no value %q", text, v)
			}
		}
	}
	for _, f := range table().fields() {
		if f.traces != "" && f.traces != tracesSame && f.traces != tracesOnce && f.traces != tracesConverted {
			t.Errorf("%s: tag traces is %q", f.Name(), f.traces)
		}
		if f.with != "" {
			check(f.with)
		}
	}
	for _, u := range slices.Concat(refused, noted) {
		for _, text := range append(slices.Clone(u.with), u.key) {
			check(text)
		}
		for _, p := range placeholder.FindAllStringSubmatch(u.say, -1) {
			if p[1] != "" && table().field(p[1]) == nil {
				t.Errorf("%q quotes %s, which is no key", u.say, p[1])
			}
		}
	}
}

func TestAmend(t *testing.T) {
	source := "# about\n\n" + plain + "\n[kirchhoff]\ndynamic   = false  # why\n\n[solver]\nmethod = \"cgls\"\n"
	set := []string{"kirchhoff.dynamic=true", "kirchhoff.dip_limit=40", "data.mute_offsets=[0,100]", "data.mute_times=[0.1,0.2]", "output.file=/tmp/x.h5"}
	c := parsed(t, source, set...)
	var settings []Setting
	for _, key := range c.Overridden() {
		settings = append(settings, Setting{key, c.Value(key)})
	}
	if len(settings) != len(set) {
		t.Fatalf("%d keys are overridden, want %d: %v", len(settings), len(set), settings)
	}
	text := Amend(source, settings)
	if got, want := parsed(t, text).TOML(), c.TOML(); got != want {
		t.Errorf("amended:\n%s\nresolves to\n%s\nwant\n%s", text, got, want)
	}
	if !strings.HasPrefix(text, "# about\n") || strings.Count(text, "[kirchhoff]") != 1 || slices.Contains(strings.Split(text, "\n"), "dynamic   = false  # why") {
		t.Errorf("amended:\n%s", text)
	}
}

// What an earlier version recorded of a section that is gone is passed over where nothing was asked of it.
func TestEarlierMonitor(t *testing.T) {
	const empty = "[survey.monitor]\nfile = \"\"\nwavelet_file = \"\"\nvelocity_file = \"\"\ndifference = \"l2\"\ndifference_weight = 0.1\n"
	if _, err := Recorded("config.toml", []byte(plain+empty), nil); err != nil {
		t.Error(err)
	}
	for _, other := range []string{strings.Replace(empty, "file = \"\"", "file = \"later.h5\"", 1), empty + "share = 1\n"} {
		if _, err := Recorded("config.toml", []byte(plain+other), nil); err == nil || !strings.Contains(err.Error(), "survey.monitor: is no longer a section") {
			t.Errorf("%s: %v", other, err)
		}
	}
}
