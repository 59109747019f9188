package benchmarks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/bench"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// crooked spoils the last rank's first element of every broadcast.
type crooked struct{ comm.Comm }

func (c crooked) Bcast(x device.Buf, root int) error {
	err := c.Comm.Bcast(x, root)
	if c.Rank() == c.Size()-1 {
		device.Slice[float32](x)[0] = -1
	}
	return err
}

// benchOnRanks is what rank 0 prints, and the exit status that all ranks have.
func benchOnRanks(t *testing.T, ranks int, asJSON bool, as func(comm.Comm) comm.Comm) (out string, code int) {
	t.Helper()
	s := bench.CommSpec{First: 24, Last: 96, Factor: 2, Iterations: 3, Type: device.F32}
	var text, errs bytes.Buffer
	codes := make([]int, ranks)
	err := commtest.Ranks(ranks, func(c comm.Comm) error {
		a := &cli.App{Report: progress.Discard()}
		if c.Rank() == 0 {
			a.Report = progress.New(progress.Options{Out: &text, Err: &errs, JSON: asJSON})
		}
		codes[c.Rank()] = status.Code(benchComm(context.Background(), a, commOptions{CommSpec: s}, as(c)))
		return nil
	})
	if err != nil || errs.Len() > 0 {
		t.Fatal(err, errs.String())
	}
	for r, code := range codes {
		if code != codes[0] {
			t.Errorf("rank %d ends with status %d, rank 0 with %d", r, code, codes[0])
		}
	}
	return text.String(), codes[0]
}

// The table reads as that of the NCCL tests: rows of nine columns, all else
// behind a #.
func TestBenchCommTable(t *testing.T) {
	out, code := benchOnRanks(t, 3, false, func(c comm.Comm) comm.Comm { return c })
	if code != status.Done {
		t.Errorf("status %d", code)
	}
	rows := 0
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		columns := 9
		if strings.Contains(line, "-way") || strings.Contains(line, "local") { // send-recv
			columns = 12
		}
		if rows++; len(strings.Fields(line)) != columns {
			t.Errorf("row %q", line)
		}
	}
	// send-recv has 7 ways, and a mean for each.
	if rows != (5+7)*3 || strings.Count(out, "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : ") != 6 ||
		strings.Count(out, "# Avg bus") != 5+7 {
		t.Errorf("%d rows in\n%s", rows, out)
	}
	for _, want := range []string{
		`(?m)^# backend goroutines, ranks 3, on this node 3;`,
		`(?m)^#\n# broadcast\n#\n# +size +count +type +redop +root +time +algbw +busbw +#wrong\n# +\(B\)`,
		`(?m)^ +24 +6 +float32 +sum +-1 +[\d.]+ +[\d.]+ +[\d.]+ +0$`,
		`(?m)^ +24 +2 +float32 +none +-1 `, // all-gather: two elements of each rank
		`(?m)^ +96 +24 +float32 +none +0 `, // broadcast from rank 0
		`(?m)^ +96 +24 +float32 +none +-1 .* 0  goroutines-get both-ways alone$`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

func TestBenchCommFindsWrong(t *testing.T) {
	as := func(c comm.Comm) comm.Comm { return crooked{c} }
	out, code := benchOnRanks(t, 2, false, as)
	// One element of one rank, in each of three iterations on three sizes.
	if code != status.NotNumerical || !strings.Contains(out, "# Out of bounds values : 9 FAILED") ||
		!strings.Contains(out, "# not measured: put, get: goroutines has no one-sided access\n") {
		t.Errorf("status %d:\n%s", code, out)
	}
	if strings.Count(out, ": 0 OK\n") != 4 {
		t.Errorf("other operations are right:\n%s", out)
	}
	out, code = benchOnRanks(t, 2, true, as)
	if code != status.NotNumerical {
		t.Errorf("JSON: status %d", code)
	}
	rows := 0
	for line := range strings.Lines(out) {
		var e struct {
			Event, Operation string
			Size, Wrong      int
			Ranks, Root      int
			Time             float64 `json:"time_us"`
			Algorithm        float64 `json:"algbw_gbs"`
			Bus              float64 `json:"busbw_gbs"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if e.Event == "not_measured" && e.Operation == "send-recv" {
			continue
		}
		rows++
		want := 0
		if e.Operation == "broadcast" {
			want = 3
		}
		if e.Event != "collective" || e.Ranks != 2 || e.Wrong != want || e.Size < 24 ||
			fmt.Sprintf("%.6g", e.Algorithm) != fmt.Sprintf("%.6g", float64(e.Size)/e.Time/1e3) || e.Bus == 0 {
			t.Errorf("row %s", line)
		}
	}
	if rows != 12+9 { // send-recv in two directions, and a copy
		t.Errorf("%d rows", rows)
	}
}
