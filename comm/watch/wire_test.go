package watch

import (
	"crypto/rand"
	"encoding/json"
	"net"
	"testing"
	"time"
)

// Rank 0 lets every rank in once, and no stranger.
func TestHubRefusesStrangers(t *testing.T) {
	h := hubFor(t, 3)
	for _, c := range []struct {
		what string
		say  any
		want string
	}{
		{"no token", hello{Rank: 1}, ""},
		{"another run's token", hello{Token: rand.Text(), Rank: 1}, ""},
		{"rank beyond", hello{Token: h.card.Token, Rank: 3}, ""},
		{"rank 0", hello{Token: h.card.Token, Rank: 0}, ""},
		{"no hello", "GET / HTTP/1.1", ""},
		{"rank 1", hello{Token: h.card.Token, Rank: 1}, h.card.Answer},
		{"rank 1 again", hello{Token: h.card.Token, Rank: 1}, ""},
	} {
		conn, err := net.Dial("tcp", h.card.Addresses[0])
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := json.NewEncoder(conn).Encode(c.say); err != nil {
			t.Fatal(err)
		}
		conn.SetReadDeadline(time.Now().Add(time.Minute))
		var m toPeer
		err = json.NewDecoder(conn).Decode(&m)
		if m.Answer != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: answer %q, error %v; want %q", c.what, m.Answer, err, c.want)
		}
	}
}

// What a rank does besides collectives counts as work.
func TestEffort(t *testing.T) {
	busy := false
	for what, work := range map[string]func(){
		"processor": func() {
			for begin := cpuTime(); cpuTime()-begin < leastSpan; {
			}
		},
		"card": func() {
			busy = true
			time.Sleep(leastSpan)
		},
	} {
		var e effort
		busy = false
		e.look(func() bool { return busy })
		before := e.last
		// Others may slow this process down below what counts as work.
		for k := 0; e.last == before; k++ {
			if k == 20 {
				t.Errorf("%s: no sign of work", what)
				break
			}
			work()
			e.look(func() bool { return busy })
		}
	}
	now := time.Now()
	b := &book{moved: now, effort: effort{at: now, last: now.Add(-time.Hour)}}
	if still := b.makeReport(time.Second).Still; still > time.Minute {
		t.Errorf("a collective counts for less than what was before it: still for %v", still)
	}
}
