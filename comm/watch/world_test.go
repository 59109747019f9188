package watch

import (
	"encoding/json"
	"fmt"
	"net"
	"sync"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
)

// A communicator among processes for the tests: every collective is one message
// to a meeting place in the parent, which answers when all ranks have sent
// theirs, and like a library under srun does not mind that ranks die. Nothing is
// summed up.

// post is one rank's part of a collective; Key is the same on all ranks.
type post struct {
	Key  string
	Rank int
	Size int
	Data []byte
}

// meet serves ranks until the listener is closed.
func meet(l net.Listener) {
	var mu sync.Mutex
	posts := map[string][]post{}
	lines := map[string][]*json.Encoder{}
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			in, out := json.NewDecoder(conn), json.NewEncoder(conn)
			for {
				var p post
				if in.Decode(&p) != nil {
					return
				}
				mu.Lock()
				posts[p.Key] = append(posts[p.Key], p)
				lines[p.Key] = append(lines[p.Key], out)
				if all := posts[p.Key]; len(all) == p.Size {
					answer := make([][]byte, p.Size)
					for _, q := range all {
						answer[q.Rank] = q.Data
					}
					for _, o := range lines[p.Key] {
						o.Encode(answer) // a dead one does not read it
					}
					delete(posts, p.Key)
					delete(lines, p.Key)
				}
				mu.Unlock()
			}
		}()
	}
}

// process is one process's communicator. Of comm.Comm it has what the tests call.
type process struct {
	comm.Comm
	group      string
	rank, size int
	calls      *int
	in         *json.Decoder
	out        *json.Encoder
}

func newProcess(address string, rank, size int) (*process, error) {
	conn, err := net.Dial("unix", address)
	if err != nil {
		return nil, err
	}
	return &process{
		group: "run", rank: rank, size: size, calls: new(int),
		in: json.NewDecoder(conn), out: json.NewEncoder(conn),
	}, nil
}

func (p *process) gather(kind string, data []byte) (all [][]byte, err error) {
	*p.calls++
	err = p.out.Encode(post{fmt.Sprint(p.group, kind, *p.calls), p.rank, p.size, data})
	if err == nil {
		err = p.in.Decode(&all)
	}
	return all, err
}

func (p *process) Name() string    { return "processes" }
func (p *process) Rank() int       { return p.rank }
func (p *process) Size() int       { return p.size }
func (p *process) Host() comm.Host { return processHost{p: p} }

// Split knows only one color.
func (p *process) Split(color, key int) (comm.Comm, error) {
	_, err := p.gather("split", nil)
	part := *p
	part.group, part.calls = p.group+"/", new(int)
	return &part, err
}

func (p *process) AllReduce(x device.Buf) error {
	_, err := p.gather(fmt.Sprint("sum", x.Len()), nil)
	return err
}

type processHost struct {
	comm.Host
	p *process
}

func (h processHost) AllGather(x []byte) ([][]byte, error) { return h.p.gather("gather", x) }

func (h processHost) Agree(flags uint64) (uint64, error) {
	_, err := h.p.gather("agreement", nil)
	return flags, err
}
