package cli

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"run", "migrate", "model", "check", "compare", "completion"}
	for typed, want := range map[string]string{"rnu": "", "rum": "run", "mig": "migrate", "Migrte": "migrate",
		"comp": "compare", "chek": "check", "zzz": "", "": ""} {
		if got := nearest(typed, names); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}
