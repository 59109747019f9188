package watch

import (
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// place is where a rank is, which it tells all others before they connect.
type place struct {
	Machine string   `json:"machine"`
	Nets    []string `json:"nets"` // its addresses with the lengths of their networks: "10.0.0.7/24"
}

func here() place { return place{machine(), ownNets()} }

// machine names the machine this process runs on, so that ranks on one can talk
// over the loopback.
func machine() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // else the name has to do
	net, _ := os.Readlink("/proc/self/ns/net")                // of containers on one machine
	return hostName() + " " + strings.TrimSpace(string(boot)) + " " + net
}

// ownNets lists the addresses of this machine that others may reach.
func ownNets() []string {
	all, _ := net.InterfaceAddrs() // without any, the loopback is left
	var out []string
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.IsGlobalUnicast() {
			out = append(out, n.String())
		}
	}
	return out
}

// doors are the addresses that rank 0 listens on, given its own place and those of all
// ranks: the loopback for its own machine, and those in networks that it shares with
// the other machines. ok is false where it shares none with one of them, so that what
// connects them cannot be told: it then listens on all.
func doors(mine place, all []place) (hosts []string, ok bool) {
	used := map[string]bool{}
	near := false
	for _, p := range all {
		near = near || p.Machine == mine.Machine
		if p.Machine == mine.Machine {
			continue
		}
		shared := sharedNets(mine, p)
		if len(shared) == 0 {
			return nil, false
		}
		for _, host := range shared {
			used[host] = true
		}
	}
	if near {
		hosts = append(hosts, loopback)
	}
	for _, text := range mine.Nets {
		if ip, _, err := net.ParseCIDR(text); err == nil && used[ip.String()] {
			hosts = append(hosts, ip.String())
		}
	}
	return hosts, true
}

// sharedNets are the addresses of mine in networks that the other place has an address
// in. One that both have, such as that of a bridge for containers, connects nothing.
func sharedNets(mine, other place) (hosts []string) {
	for _, a := range mine.Nets {
		ip, network, err := net.ParseCIDR(a)
		if err != nil {
			continue
		}
		for _, b := range other.Nets {
			if far, _, err := net.ParseCIDR(b); err == nil && network.Contains(far) && !far.Equal(ip) {
				hosts = append(hosts, ip.String())
				break
			}
		}
	}
	return hosts
}

const loopback = "127.0.0.1"

// listen opens the doors; addresses are where they are, with their ports.
func listen(mine place, all []place) (listeners []net.Listener, addresses []string, err error) {
	hosts, ok := doors(mine, all)
	if !ok {
		l, err := net.Listen("tcp", ":0")
		if err != nil {
			return nil, nil, err
		}
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			l.Close()
			return nil, nil, err
		}
		addresses = append(addresses, net.JoinHostPort(loopback, port), net.JoinHostPort("::1", port))
		for _, text := range mine.Nets {
			if ip, _, err := net.ParseCIDR(text); err == nil {
				addresses = append(addresses, net.JoinHostPort(ip.String(), port))
			}
		}
		return []net.Listener{l}, addresses, nil
	}
	for _, host := range hosts {
		l, fault := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if fault != nil {
			err = errors.Join(err, fault)
			continue
		}
		listeners, addresses = append(listeners, l), append(addresses, l.Addr().String())
	}
	if len(listeners) > 0 {
		err = nil // the others will do
	}
	return listeners, addresses, err
}

// accept lets callers in at one door until it is closed. An error, such as that no
// descriptor is left, is waited out, and strangers make room.
func (h *hub) accept(l net.Listener) {
	pause := leastPause
	for {
		conn, err := l.Accept()
		if err == nil {
			pause = leastPause
			h.strangers.add(conn)
			go h.welcome(conn)
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

// strangers are callers that have not shown the token yet, the first comer first. More
// than so many are not kept waiting: the first of them goes, and if it was a rank, it
// calls again.
type strangers struct {
	most int

	mu     sync.Mutex
	conns  []net.Conn
	closed bool
}

// mostStrangers leaves three quarters of the descriptors to the run.
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
	if s.closed {
		conn.Close()
		return
	}
	if s.conns = append(s.conns, conn); len(s.conns) > s.most {
		s.dismiss(len(s.conns) - s.most)
	}
}

// remove takes one off the list that is no stranger any more, or gone.
func (s *strangers) remove(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range s.conns {
		if c == conn {
			s.conns = append(s.conns[:i], s.conns[i+1:]...)
			return
		}
	}
}

func (s *strangers) halve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dismiss((len(s.conns) + 1) / 2)
}

// close dismisses all, and whoever comes later.
func (s *strangers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.dismiss(len(s.conns))
}

// dismiss closes the first n, with the lock held.
func (s *strangers) dismiss(n int) {
	for _, c := range s.conns[:n] {
		c.Close()
	}
	s.conns = append([]net.Conn(nil), s.conns[n:]...)
}
