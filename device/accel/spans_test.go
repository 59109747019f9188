package accel_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
)

func TestMain(m *testing.M) { os.Exit(gputest.Main(m)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// card opens the first card of NVIDIA's.
func card(t testing.TB) *accel.Context {
	t.Helper()
	gputest.Need(t)
	d, err := driver.CUDA.Open()
	must(t, err)
	cards, err := d.Cards()
	must(t, err)
	c, err := d.Use(cards[0])
	must(t, err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// memory is that of 2¹⁶ float32.
func memory(t testing.TB, c *accel.Context) accel.Memory {
	t.Helper()
	m, err := c.Alloc(1 << 18)
	must(t, err)
	return m
}

// Spans of a stream keep their order, however often the clocks are compared, and those of
// two streams may overlap.
func TestSpansKeepTheirOrder(t *testing.T) {
	defer accel.CompareClocks(accel.CompareClocks(0))
	c := card(t)
	other, err := c.NewStream("other")
	must(t, err)
	x := memory(t, c)
	type span struct{ begin, end time.Time }
	var spans []span
	tell := func(begin time.Time, took time.Duration) { spans = append(spans, span{begin, begin.Add(took)}) }
	var around span
	for range 50 {
		outer := c.Time(other, func(begin time.Time, took time.Duration) { around = span{begin, begin.Add(took)} })
		c.Follow(c.Main(), other)
		for range 4 {
			p := c.Time(c.Main(), tell)
			c.Fill(c.Main(), x, 0, 1<<18)
			p.End()
		}
		first := len(spans)
		c.Follow(other, c.Main())
		outer.End()
		must(t, c.Finish(c.Main()))
		must(t, c.Finish(other))
		for _, s := range spans[first:] {
			if s.begin.Before(around.begin) || s.end.After(around.end) {
				t.Fatalf("span %v, while that of the stream it waits for, and that waits for it, is %v", s, around)
			}
		}
	}
	if len(spans) != 200 {
		t.Fatalf("%d spans, want 200", len(spans))
	}
	for i, s := range spans {
		if s.end.Before(s.begin) || i > 0 && s.begin.Before(spans[i-1].end) {
			t.Errorf("span %d is %v, after %v", i, s, spans[max(0, i-1)])
		}
	}
	c.CloseStream(other)
}

// Callers that are cut short leave no span behind.
func TestSpansOfWorkThatIsCut(t *testing.T) {
	c := card(t)
	x := memory(t, c)
	told := 0
	cut := errors.New("cut")
	for n := range 5 {
		p := c.Time(c.Main(), func(time.Time, time.Duration) { told++ })
		c.Fill(c.Main(), x, 0, 1<<18)
		c.Cut(cut)
		p.End()
		if err := c.Finish(c.Main()); !errors.Is(err, cut) {
			t.Fatalf("error %v, want that of the cut", err)
		}
		c.Cut(nil)
		if left := c.Timing(); left != 0 || told != n+1 {
			t.Errorf("%d spans are left, %d were told of, want %d", left, told, n+1)
		}
	}
}
