package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// instruction is one of a kernel. Its place is the source lines that it was made of: its
// own, then those of the calls that were inlined round it.
type instruction struct {
	at    int // bytes from the kernel's first
	text  string
	place []string
}

var (
	kernelLine = regexp.MustCompile(`^\.text\.(\w+):$`)
	placeLine  = regexp.MustCompile(`^\s*//## File "(?:[^"]*/)?([^"/]+)", line (\d+)( inlined at)?`)
	codeLine   = regexp.MustCompile(`^\s*/\*([0-9a-f]+)\*/\s+(.*?)\s*;`)
	labelLine  = regexp.MustCompile(`^(\.L_x_\d+):$`)
	target     = regexp.MustCompile("`\\((\\.L_x_\\d+)\\)")
)

// kernels reads what nvdisasm -c -gi prints. lines holds the texts of the source files.
func kernels(listing string, lines map[string][]string) (map[string][]instruction, error) {
	all := map[string][]instruction{}
	labels := map[string]int{}
	name, place, more := "", []string(nil), false
	for _, line := range strings.Split(listing, "\n") {
		if m := kernelLine.FindStringSubmatch(line); m != nil {
			name, place, more = m[1], nil, false
		} else if m := labelLine.FindStringSubmatch(line); m != nil {
			labels[m[1]] = len(all[name])
		} else if m := placeLine.FindStringSubmatch(line); m != nil {
			if !more {
				place = nil
			}
			n, _ := strconv.Atoi(m[2])
			if text := lines[m[1]]; 0 < n && n <= len(text) {
				place = append(place, strings.TrimSpace(text[n-1]))
			}
			more = true
		} else if m := codeLine.FindStringSubmatch(line); m != nil && name != "" {
			at, err := strconv.ParseInt(m[1], 16, 64)
			if err != nil {
				return nil, err
			}
			all[name] = append(all[name], instruction{int(at), m[2], place})
			more = false
		}
	}
	for _, list := range all {
		for i := range list {
			if m := target.FindStringSubmatch(list[i].text); m != nil {
				list[i].text = strings.Replace(list[i].text, m[0], fmt.Sprint("to ", labels[m[1]]), 1)
			}
		}
	}
	return all, nil
}

var (
	jump = regexp.MustCompile(`^(@!?U?P\w+ )?(BRA|EXIT|RET|BRX|CALL)\b.*?(?:to (\d+))?$`)
	// predicate is in every jump that may not be taken.
	predicate = regexp.MustCompile(`\bU?P\d|^CALL`)
	code      = regexp.MustCompile(`^(?:@!?U?P\w+ )?([A-Z0-9]+)`)
)

// opcode is the name of an instruction without what follows its first point.
func (i instruction) opcode() string { return code.FindStringSubmatch(i.text)[1] }

// block is a stretch of instructions, first to end, that run one after the other.
type block struct {
	first, end int
	next       []int // blocks that may follow
}

// blocks cuts a kernel where jumps leave and arrive.
func blocks(list []instruction) (all []block) {
	starts := []int{0}
	for i, in := range list {
		if m := jump.FindStringSubmatch(in.text); m != nil {
			starts = append(starts, i+1)
			if m[3] != "" {
				to, _ := strconv.Atoi(m[3])
				starts = append(starts, to)
			}
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	at := map[int]int{}
	for n, first := range starts {
		if first < len(list) {
			at[first] = n
			all = append(all, block{first: first, end: len(list)})
			if n+1 < len(starts) {
				all[n].end = starts[n+1]
			}
		}
	}
	for n := range all {
		b := &all[n]
		m := jump.FindStringSubmatch(list[b.end-1].text)
		if m != nil && m[3] != "" {
			to, _ := strconv.Atoi(m[3])
			b.next = append(b.next, at[to])
		}
		if follow, ok := at[b.end]; ok && (m == nil || predicate.MatchString(m[0])) {
			b.next = append(b.next, follow)
		}
	}
	return all
}

// loop is a natural loop: a head, the blocks from which a path leads back to it without
// leaving the loop, and the blocks that jump back.
type loop struct {
	head  int
	tails []int
	body  []bool
}

// loops finds the loops of a kernel, of which outer ones have more blocks.
func loops(all []block) (list []loop) {
	before, order := make([][]int, len(all)), reachable(all)
	for _, n := range order {
		for _, next := range all[n].next {
			before[next] = append(before[next], n)
		}
	}
	for _, head := range order {
		l := loop{head: head, body: make([]bool, len(all))}
		l.body[head] = true
		for _, tail := range before[head] {
			if dominates(all, head, tail) {
				l.tails = append(l.tails, tail)
				l.collect(tail, before)
			}
		}
		if l.tails != nil {
			list = append(list, l)
		}
	}
	return list
}

func (l *loop) collect(n int, before [][]int) {
	if l.body[n] {
		return
	}
	l.body[n] = true
	for _, b := range before[n] {
		l.collect(b, before)
	}
}

// reachable lists the blocks that some path from the first reaches, without those in skip.
func reachable(all []block, skip ...int) []int {
	seen, list := make([]bool, len(all)), []int{}
	var visit func(n int)
	visit = func(n int) {
		if seen[n] || slices.Contains(skip, n) {
			return
		}
		seen[n] = true
		list = append(list, n)
		for _, next := range all[n].next {
			visit(next)
		}
	}
	visit(0)
	return list
}

// dominates reports whether every path to n leads through head.
func dominates(all []block, head, n int) bool {
	return head == n || !slices.Contains(reachable(all, head), n)
}
