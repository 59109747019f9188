package comm

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"
)

// Fact is something that must be the same on every rank of a run, such as the value of a
// configuration key or the digest of an input file.
type Fact struct {
	Name   string // such as "solver.damping"
	Value  string
	Origin string // where this rank has the value from, "" where that says nothing; may differ
}

// shownDifferences bounds how many differing facts one error names.
const shownDifferences = 5

// Same makes sure that all ranks have the same facts. If they differ it returns, on all
// ranks, an *Agreed that names each differing fact with its values and their ranks; it
// carries no exit status. The order of facts does not matter. It is collective. Ranks
// exchange 32 bytes each, and the facts themselves only if those differ.
func Same(c Comm, facts []Fact) error {
	if c.Size() == 1 {
		return nil
	}
	facts = slices.SortedStableFunc(slices.Values(facts), func(a, b Fact) int { return strings.Compare(a.Name, b.Name) })
	h := sha256.New()
	for _, f := range facts {
		fmt.Fprintf(h, "%q=%q\n", f.Name, f.Value)
	}
	digests, err := c.Host().AllGather(h.Sum(nil))
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(digests, func(d []byte) bool { return string(d) != string(digests[0]) }) {
		return nil
	}
	byRank, err := GatherJSON(c.Host().AllGather, facts)
	if err != nil {
		return err
	}
	return &Agreed{Rank: 0, Err: errors.New("the ranks of this run differ: " + listDifferences(byRank))}
}

// listDifferences lists what differs, fact by fact.
func listDifferences(byRank [][]Fact) string {
	var lines []string
	seen := map[string]bool{}
	for _, f := range slices.Concat(byRank...) {
		if seen[f.Name] {
			continue
		}
		seen[f.Name] = true
		if line := describeDifference(f.Name, byRank); line != "" {
			lines = append(lines, line)
		}
	}
	if more := len(lines) - shownDifferences; more > 0 {
		lines = append(lines[:shownDifferences], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "; ")
}

// describeDifference says which ranks have which value of one fact. It returns "" if all agree.
func describeDifference(name string, byRank [][]Fact) string {
	type group struct {
		value, origin string
		ranks         []int
	}
	var groups []group
	for rank, facts := range byRank {
		g := group{value: "not there"}
		if i := slices.IndexFunc(facts, func(f Fact) bool { return f.Name == name }); i >= 0 {
			g = group{value: facts[i].Value, origin: facts[i].Origin}
		}
		at := slices.IndexFunc(groups, func(o group) bool { return o.value == g.value })
		if at < 0 {
			groups = append(groups, g)
			at = len(groups) - 1
		}
		groups[at].ranks = append(groups[at].ranks, rank)
	}
	if len(groups) < 2 {
		return ""
	}
	words := make([]string, len(groups))
	for i, g := range groups {
		words[i] = fmt.Sprintf("%s on %s %s", g.value, english.PluralWord(len(g.ranks), "rank", ""), ListRanks(g.ranks, 4))
		if g.origin != "" {
			words[i] += " (" + g.origin + ")"
		}
	}
	return name + " is " + strings.Join(words, ", ")
}

// ListRanks formats ranks for a message, as in "0, 1 and 3". It lists at most the given
// number of them.
func ListRanks(ranks []int, most int) string {
	var words []string
	for i, r := range ranks {
		if i == most && len(ranks) > most+1 {
			words = append(words, fmt.Sprintf("%d more", len(ranks)-i))
			break
		}
		words = append(words, fmt.Sprint(r))
	}
	return english.WordSeries(words, "and")
}
