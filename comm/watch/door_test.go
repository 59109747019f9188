package watch

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func nets(texts ...string) (out []netip.Prefix) {
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// Rank 0 listens on the loopback alone where all ranks are on its machine, else in the
// networks that it shares with the others.
func TestDoors(t *testing.T) {
	bridge := "172.17.0.1/16" // of containers, the same on every machine
	mine := at("a", nets("10.1.0.1/16", bridge, "192.168.5.1/24", "fd00::1/64"))
	for _, c := range []struct {
		what  string
		all   []place
		hosts []string
		ok    bool
	}{
		{"one machine", []place{mine, mine}, []string{loopback}, true},
		{"another machine", []place{at("b", nets(bridge, "192.168.5.9/24"))}, []string{"192.168.5.1"}, true},
		{"both", []place{mine, at("b", nets("10.1.200.3/16"))}, []string{loopback, "10.1.0.1"}, true},
		{"two networks", []place{at("b", nets("10.1.200.3/16")), at("c", nets("fd00::7/64"))}, []string{"10.1.0.1", "fd00::1"}, true},
		{"behind a router", []place{mine, at("b", nets(bridge, "10.2.0.1/16"))}, nil, false},
		{"no address", []place{at("b", nil)}, nil, false},
	} {
		hosts, ok := listDoors(mine, c.all)
		if !slices.Equal(hosts, c.hosts) || ok != c.ok {
			t.Errorf("%s: %v, %v; want %v, %v", c.what, hosts, ok, c.hosts, c.ok)
		}
	}
	l, addresses, err := listen(at("a", nil), []place{at("a", nil)})
	if err != nil || len(l) != 1 || !strings.HasPrefix(addresses[0], loopback+":") || l[0].Addr().String() != addresses[0] {
		t.Fatalf("listens at %v, %v", addresses, err)
	}
	l[0].Close()
	if l, addresses, err = listen(at("a", nets("10.1.0.1/16")), []place{at("b", nil)}); err != nil || len(l) != 1 ||
		len(addresses) != 3 || !strings.HasPrefix(addresses[2], "10.1.0.1:") {
		t.Fatalf("listens at %v, %v", addresses, err)
	}
	l[0].Close()
}

// hubFor is a hub of this machine for so many ranks.
func hubFor(t *testing.T, ranks int) *hub {
	t.Helper()
	w := watchOf(ranks)
	w.book = &book{w: w}
	h, err := newHub(w, slices.Repeat([]place{here()}, ranks))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.end)
	return h
}

// flood opens connections that say nothing.
func flood(t *testing.T, address string, n int) {
	t.Helper()
	for range n {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
	}
}

// Strangers that stand at the door do not keep a rank out, and few of them are let wait.
func TestStrangersMakeRoom(t *testing.T) {
	h := hubFor(t, 2)
	most := h.strangers.most
	flood(t, h.card.Addresses[0], 3*most)
	p, err := dial(h.card, true, 1, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer p.conn.Close()
	h.strangers.mu.Lock()
	n := len(h.strangers.conns)
	h.strangers.mu.Unlock()
	if n > most {
		t.Errorf("%d strangers wait, at most %d may", n, most)
	}
	if err := h.await(); err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", h.card.Addresses[0]); err == nil {
		t.Error("the door is open though all ranks are here")
	}
}

// failing is a listener that fails some times first.
type failing struct {
	net.Listener
	times int
}

func (f *failing) Accept() (net.Conn, error) {
	if f.times > 0 {
		f.times--
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return f.Listener.Accept()
}

// A lack of descriptors is waited out.
func TestAcceptGoesOn(t *testing.T) {
	h := hubFor(t, 2)
	l, err := net.Listen("tcp", loopback+":0")
	if err != nil {
		t.Fatal(err)
	}
	h.listeners = append(h.listeners, l)
	go h.accept(&failing{l, 3})
	h.card.Addresses = []string{l.Addr().String()}
	p, err := dial(h.card, true, 1, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	p.conn.Close()
}

// crowded is rank 0 of two with few descriptors: it prints its card, says when rank 1 is
// there, and stays until its input ends.
func crowded() error {
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 150, Max: 150}); err != nil {
		return err
	}
	w := watchOf(2)
	w.book = &book{w: w}
	h, err := newHub(w, []place{here(), here()})
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(h.card); err != nil {
		return err
	}
	if err := h.await(); err != nil {
		return err
	}
	file, err := os.Open(os.Args[0]) // the run has descriptors left
	if err != nil {
		return err
	}
	file.Close()
	fmt.Println("joined")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// A rank gets in past four times as many strangers as there are descriptors.
func TestCrowdBeyondDescriptors(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "WATCH_ACT=crowded", "WATCH_RANK=0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var c card
	lines.Scan()
	if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	flood(t, c.Addresses[0], 600)
	p, err := dial(c, true, 1, time.Minute)
	if err != nil {
		t.Error(err)
	} else {
		defer p.conn.Close()
	}
	lines.Scan()
	in.Close()
	if err := cmd.Wait(); err != nil || lines.Text() != "joined" {
		t.Errorf("rank 0: %v\n%s%s", err, lines.Text(), said.String())
	}
}

// here is where this process is.
func at(machine string, nets []netip.Prefix) place { return place{Machine: machine, Nets: nets} }

// watchOf is the watch of rank 0 before the ranks have connected.
func watchOf(ranks int) *Watch {
	w := &Watch{o: Options{}.withDefaults(), size: ranks, decided: make(chan struct{}), quit: make(chan struct{})}
	w.stop = sync.OnceFunc(func() { close(w.quit) })
	return w
}
