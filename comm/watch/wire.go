package watch

import (
	"encoding/json"
	"io"
	"net"
	"sync"
	"time"
)

// Messages are JSON values, one after the other.

// card says how to reach rank 0. It is broadcast to the other ranks.
type card struct {
	Addresses []string `json:"addresses"` // where it listens: "10.0.0.7:34567"
	Token     string   `json:"token"`     // what ranks show to rank 0
	Answer    string   `json:"answer"`    // what rank 0 shows to them
}

// hello is a rank's first message.
type hello struct {
	Token string `json:"token"`
	Rank  int    `json:"rank"`
}

type fromPeer struct {
	Beat *beat    `json:"beat,omitempty"`
	Bye  bool     `json:"bye,omitempty"`
	Why  string   `json:"why,omitempty"`
	Fail *Verdict `json:"fail,omitempty"` // this rank failed
	Left *Verdict `json:"left,omitempty"` // it gave rank 0 up
	Tell string   `json:"tell,omitempty"` // to be passed on
}

type toPeer struct {
	Answer  string   `json:"answer,omitempty"` // to hello
	Ping    *ping    `json:"ping,omitempty"`
	Verdict *Verdict `json:"verdict,omitempty"`
	End     bool     `json:"end,omitempty"` // all have said goodbye
	Told    string   `json:"told,omitempty"`
}

// ping is rank 0's report about itself.
type ping struct {
	Heir  int    `json:"heir"`  // who prints if rank 0 is lost
	Where string `json:"where"` // what rank 0 is doing
	Now   bool   `json:"now,omitempty"`
}

// line is one end of a connection.
type line struct {
	conn net.Conn
	in   *json.Decoder
	mu   sync.Mutex // of out
	out  *json.Encoder
}

func newLine(conn net.Conn, from io.Reader) *line {
	return &line{conn: conn, in: json.NewDecoder(from), out: json.NewEncoder(conn)}
}

// send writes a message. It ignores errors, which the reader finds.
func (l *line) send(m any, limit time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn.SetWriteDeadline(time.Now().Add(limit))
	l.out.Encode(m)
}

// poke wakes whoever waits at a channel, unless it is about to wake already.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
