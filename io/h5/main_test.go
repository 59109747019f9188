package h5

import (
	"fmt"
	"os"
	"testing"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// The test binary is also the child process of tests whose subject may crash
// libhdf5 or needs limits of its own: an environment variable chooses the role.
const (
	readEnv = "LSM_H5_TEST_READ"
	fullEnv = "LSM_H5_TEST_FULL"

	linksEnv = "LSM_H5_TEST_LINKS" // a folder to make files in
	tryEnv   = "LSM_H5_TEST_TRY"

	// Under the race detector every process sleeps for a second as it ends.
	quickExit = "GORACE=atexit_sleep_ms=0"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(readEnv); path != "" {
		if readAll(path) {
			os.Exit(0)
		}
		os.Exit(3)
	}
	if path := os.Getenv(tryEnv); path != "" {
		fmt.Fprintln(os.Stderr, Try(path))
		os.Exit(3)
	}
	if path := os.Getenv(fullEnv); path != "" {
		os.Exit(writeUnderLimit(path))
	}
	os.Exit(m.Run())
}

// readAll sends a file through every reader and reports whether any of them
// took it.
func readAll(path string) bool {
	taken := false
	note := func(what string, err error) {
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
			return
		}
		taken = true
	}
	_, err := ReadSurvey(path)
	note("survey", err)
	_, _, err = ReadSurveyHeader(path)
	note("header", err)
	_, _, err = ReadModel(path)
	note("model", err)
	_, err = ReadImage(path)
	note("image", err)
	note("tables", readTables(path))
	info, err := Describe(path, DescribeOptions{Range: true, Digest: true})
	note("describe", err)
	if err == nil {
		for _, o := range info.Objects {
			if o.Fault != "" {
				fmt.Fprintf(os.Stderr, "describe: %s: %s\n", o.Name, o.Fault)
			}
		}
	}
	return taken
}

func readTables(path string) error {
	t, err := OpenTables(path)
	if err != nil {
		return err
	}
	defer t.Close()
	for _, role := range roles {
		for q := Time; q <= Gradient; q++ {
			if !t.Has(role, q) {
				continue
			}
			n := map[survey.Role]int{survey.AtSource: t.NumSources(), survey.AtReceiver: t.NumReceivers()}[role]
			row := make([]float64, t.RowLen(q))
			for i := range n {
				if err := t.ReadRow(row, role, q, i); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
