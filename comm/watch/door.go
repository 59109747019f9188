package watch

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// place says where a rank runs. Every rank tells all others before they connect.
type place struct {
	Host    string         `json:"host"`
	PID     int            `json:"pid"`
	Machine string         `json:"machine"` // ranks with the same one can talk over the loopback
	Nets    []netip.Prefix `json:"nets"`    // its addresses with the lengths of their networks: 10.0.0.7/24
}

// here is the place of this process.
func here() place {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // otherwise the name must do
	net, _ := os.Readlink("/proc/self/ns/net")                // of containers on one machine
	return place{host, os.Getpid(), host + " " + strings.TrimSpace(string(boot)) + " " + net, ownNets()}
}

// ownNets lists the addresses of this machine that others may reach.
func ownNets() (nets []netip.Prefix) {
	all, _ := net.InterfaceAddrs() // without any, the loopback is left
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().IsGlobalUnicast() {
			nets = append(nets, p)
		}
	}
	return nets
}

// listDoors returns the addresses that rank 0 listens on, given its own place and those of
// all ranks: the loopback for its own machine, and its addresses in networks that it
// shares with the other machines. ok is false if it shares no network with one of them;
// rank 0 then listens on all addresses.
func listDoors(mine place, all []place) (hosts []string, ok bool) {
	var used []netip.Addr
	near := false
	for _, p := range all {
		if p.Machine == mine.Machine {
			near = true
			continue
		}
		shared := sharedNets(mine, p)
		if len(shared) == 0 {
			return nil, false
		}
		used = append(used, shared...)
	}
	if near {
		hosts = append(hosts, loopback)
	}
	for _, n := range mine.Nets {
		if slices.Contains(used, n.Addr()) {
			hosts = append(hosts, n.Addr().String())
		}
	}
	return hosts, true
}

// sharedNets returns mine's addresses in networks in which the other place also has an
// address. An address that both have, such as that of a bridge for containers, connects
// nothing.
func sharedNets(mine, other place) (hosts []netip.Addr) {
	for _, a := range mine.Nets {
		if slices.ContainsFunc(other.Nets, func(b netip.Prefix) bool { return a.Contains(b.Addr()) && a.Addr() != b.Addr() }) {
			hosts = append(hosts, a.Addr())
		}
	}
	return hosts
}

const loopback = "127.0.0.1"

// listen opens the doors and returns their addresses with ports.
func listen(mine place, all []place) (listeners []net.Listener, addresses []string, err error) {
	hosts, ok := listDoors(mine, all)
	if !ok {
		hosts = []string{""}
	}
	for _, host := range hosts {
		l, fault := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if fault != nil {
			err = errors.Join(err, fault)
			continue
		}
		listeners = append(listeners, l)
		if host != "" {
			addresses = append(addresses, l.Addr().String())
			continue
		}
		reached := []string{loopback, "::1"}
		for _, n := range mine.Nets {
			reached = append(reached, n.Addr().String())
		}
		_, port, _ := net.SplitHostPort(l.Addr().String()) // which a listener has
		for _, host := range reached {
			addresses = append(addresses, net.JoinHostPort(host, port))
		}
	}
	if len(listeners) > 0 {
		err = nil // the others will do
	}
	return listeners, addresses, err
}

// accept lets callers in at one door until it is closed. After an error, such as running
// out of descriptors, it dismisses half of the strangers and tries again later.
func (h *hub) accept(l net.Listener) {
	pause := leastPause
	for {
		conn, err := l.Accept()
		if err == nil {
			pause = leastPause
			h.strangers.add(conn)
			go h.admitConnection(conn)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return // all are here, or the watch has ended
		}
		h.strangers.halve()
		select {
		case <-h.joined:
		case <-h.w.quit:
		case <-time.After(pause):
		}
		pause = min(2*pause, mostPause)
	}
}

// How long accept waits after an error: twice as long after every further one.
const leastPause, mostPause = 5 * time.Millisecond, time.Second

// helloTime is how long a caller may take to show the token.
const helloTime = 5 * time.Second

// strangers holds the callers that have not shown the token yet, in order of arrival.
// When there are too many, the first is dismissed; if it was a rank, it calls again.
type strangers struct {
	most int // 0 once the doors are closed

	mu    sync.Mutex
	conns []net.Conn
}

// mostStrangers is the limit on strangers. It leaves three quarters of the descriptors to
// the run.
func mostStrangers(ranks int) int {
	most := 64 + 4*ranks
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil && limit.Cur/4 < uint64(most) {
		most = max(1, int(limit.Cur/4))
	}
	return most
}

func (s *strangers) add(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, conn)
	s.keep(s.most)
}

// remove takes a connection off the list, because it has shown the token or is gone.
func (s *strangers) remove(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = slices.DeleteFunc(s.conns, func(c net.Conn) bool { return c == conn })
}

func (s *strangers) halve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(len(s.conns) / 2)
}

// close dismisses all, and whoever comes later.
func (s *strangers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = 0
	s.keep(0)
}

// keep dismisses all but the last n strangers. The caller holds the lock.
func (s *strangers) keep(n int) {
	for len(s.conns) > n {
		s.conns[0].Close()
		s.conns = s.conns[1:]
	}
}
