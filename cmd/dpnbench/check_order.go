package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dpnbench/engine"
	"dpnbench/engine/order"
	"dpnbench/internal/quote"
	"dpnbench/internal/regular"
	"dpnbench/internal/sysinfo"
	"dpnbench/plot"
)

// orderResult is the JSON of check --order.
type orderResult struct {
	Machine sysinfo.Machine `json:"machine"`
	Orders  []orderRow      `json:"orders"`
}

// orderRow is the order of a sum of some terms.
type orderRow struct {
	Operation      string `json:"operation"`
	Implementation string `json:"implementation"`
	Element        string `json:"element,omitempty"` // of a product
	Terms          int    `json:"terms"`
	Order          string `json:"order"`
	Fused          string `json:"fused"`
	Sums           string `json:"sums"`     // the type of partial sums
	Verified       bool   `json:"verified"` // random numbers, added in this order, have the same bits
	Tree           string `json:"tree"`
	Error          string `json:"error,omitempty"`

	found *order.Order
}

// orderGroup are implementations whose orders are equal at all numbers of terms.
type orderGroup struct {
	operation, family string
	members, places   []string
	rows              []orderRow // one for each number of terms
}

// defaultTerms are the numbers of terms of check --order: around the boundaries of registers, and above that of
// blocks of 256.
const defaultTerms = "7,16,33,64,300"

// dumpedTerms is the number of terms of check --order --dump unless --terms is given.
const dumpedTerms = "64"

// parseTerms reads the numbers of terms.
func parseTerms(text string, most int) ([]int, error) {
	var list []int
	for _, s := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < order.Least || n > most {
			return nil, fmt.Errorf("--terms %s: expected whole numbers from %d to %d, as in 16,33", text, order.Least,
				most)
		}
		list = append(list, n)
	}
	return list, nil
}

// checkOrder finds the orders of additions of the engine on every tier, and of gonum.
func (a *app) checkOrder(ctx context.Context, o checkFlags) error {
	terms, err := parseTerms(o.terms, order.Most)
	if err != nil {
		return err
	}
	if err := a.orderFiles(o).Check(); err != nil {
		return err
	}
	tiers := engine.Available()
	t, err := a.tierSetting()
	if err != nil {
		return err
	}
	if t != engine.Auto {
		tiers = []engine.Tier{t}
	}
	all, err := a.libraryOrders(o)
	if err != nil {
		return err
	}
	all = append(order.OfGonum(), all...)
	for _, t := range slices.Backward(tiers) {
		e, err := engine.New(engine.WithTier(t), engine.WithThreads(1))
		if err != nil {
			return err
		}
		defer e.Close()
		all = append(order.OfEngine(e), all...)
	}
	groups, rows, err := a.findOrders(ctx, all, terms)
	if err != nil {
		return err
	}
	failed := a.orderTable(groups)
	if len(terms) == 1 && terms[0] <= 33 {
		a.drawOrders(groups)
	}
	if o.draw != "" {
		if err := saveOrders(o.draw, groups); err != nil {
			return err
		}
	}
	return joined(failed, a.writeJSON(orderResult{sysinfo.ReadMachine(), rows}))
}

// orderFiles declares the files of check --order.
func (a *app) orderFiles(o checkFlags) interface{ Check() error } {
	f := a.files()
	if o.draw != "" {
		f.Folder("--draw", o.draw, isFigure, "")
	}
	return f
}

// findOrders probes implementations and groups those that are equal.
func (a *app) findOrders(ctx context.Context, all []order.Implementation, terms []int) ([]*orderGroup, []orderRow,
	error) {
	progress := a.phase("order")
	defer a.progress.end()
	var groups []*orderGroup
	var list []orderRow
	for i, x := range all {
		var rows []orderRow
		for k, n := range terms {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			found, err := order.Find(n, x.Kind, x.F)
			rows = append(rows, newOrderRow(x, n, found, err))
			progress(i*len(terms)+k+1, len(all)*len(terms))
		}
		list = append(list, rows...)
		groups = addOrder(groups, x, rows)
	}
	return groups, list, nil
}

func newOrderRow(x order.Implementation, n int, found *order.Order, err error) orderRow {
	row := orderRow{Operation: x.Operation, Implementation: x.Name, Element: x.Place, Terms: n, found: found}
	if err != nil {
		row.Error = oneLine(err)
		row.found = nil
		return row
	}
	row.Order, row.Fused, row.Sums = found.Describe(), found.Fusing(), found.Precision()
	row.Verified, row.Tree = found.Verified, found.Root.String()
	return row
}

// addOrder adds rows to the group that they belong to.
func addOrder(groups []*orderGroup, x order.Implementation, rows []orderRow) []*orderGroup {
	family, member, _ := strings.Cut(x.Name, ", ")
	for _, g := range groups {
		if g.operation == x.Operation && g.family == family && sameOrders(g.rows, rows) {
			if !slices.Contains(g.members, member) {
				g.members = append(g.members, member)
			}
			if !slices.Contains(g.places, x.Place) {
				g.places = append(g.places, x.Place)
			}
			return groups
		}
	}
	return append(groups, &orderGroup{x.Operation, family, []string{member}, []string{x.Place}, rows})
}

// sameOrders reports whether all orders are equal.
func sameOrders(a, b []orderRow) bool {
	return slices.EqualFunc(a, b, func(a, b orderRow) bool {
		if a.found == nil || b.found == nil {
			return a.Error == b.Error && a.found == b.found
		}
		return a.Tree == b.Tree && a.Sums == b.Sums && a.Verified == b.Verified && a.found.Kind == b.found.Kind
	})
}

const ownFamily = "engine"

// orderTable prints the groups. It returns an error if tiers of the engine differ, or elements of a product.
func (a *app) orderTable(groups []*orderGroup) (failed error) {
	rows := [][]string{{"operation", "of", "terms", "order", "fused", "sums", "same bits as"}}
	for _, g := range groups {
		same := g.twins(groups)
		if g.family == ownFamily {
			if same = "each other"; g.splits(groups) {
				same, failed = "NOT each other", &failedError{"the engine adds in more than one order"}
			}
		}
		for i := 0; i < len(g.rows); {
			end := i + 1
			for end < len(g.rows) && slices.Equal(g.rows[end].cells(), g.rows[i].cells()) {
				end++
			}
			n := fmt.Sprint(g.rows[i].Terms)
			if end > i+1 {
				n += " to " + fmt.Sprint(g.rows[end-1].Terms)
			}
			rows = append(rows, append([]string{g.operation, g.name(groups), n}, append(g.rows[i].cells(), same)...))
			i = end
		}
	}
	a.keyed(3, rows)
	return failed
}

// cells are order, fused and sums.
func (r orderRow) cells() []string {
	if r.found == nil {
		return []string{r.Error, "-", "-"}
	}
	sums := r.Sums
	if !r.Verified {
		sums += ", NOT verified"
	}
	return []string{r.Order, r.Fused, sums}
}

// name is the implementation, with tiers and, if elements of a product differ, where they are.
func (g *orderGroup) name(groups []*orderGroup) string {
	name := g.family
	if m := strings.Join(g.members, ", "); m != "" {
		name += ": " + m
	}
	if g.splits(groups) && g.places[0] != "" {
		name += " at " + strings.Join(g.places, ", ")
	}
	return name
}

// splits reports whether another group has the same operation and family.
func (g *orderGroup) splits(groups []*orderGroup) bool {
	return slices.ContainsFunc(groups, func(h *orderGroup) bool {
		return h != g && h.operation == g.operation && h.family == g.family
	})
}

// twins lists operations of the engine that have the same bits at all numbers of terms.
func (g *orderGroup) twins(groups []*orderGroup) string {
	var names []string
	for _, h := range groups {
		equal := func(x, y orderRow) bool { return x.found != nil && y.found != nil && x.found.Equal(y.found) }
		if h.family == ownFamily && h != g && slices.EqualFunc(g.rows, h.rows, equal) &&
			!slices.Contains(names, h.operation) {
			names = append(names, h.operation)
		}
	}
	if names == nil {
		return "none of the engine"
	}
	return "engine " + strings.Join(names, ", ")
}

// drawOrders prints the trees of one number of terms, each once.
func (a *app) drawOrders(groups []*orderGroup) {
	var drawn []string
	for _, g := range groups {
		r := g.rows[0]
		if r.found == nil || slices.Contains(drawn, r.Tree) {
			continue
		}
		drawn = append(drawn, r.Tree)
		var names []string
		for _, h := range groups {
			if h.rows[0].Tree == r.Tree {
				names = append(names, h.operation+" of "+h.family)
			}
		}
		a.printf("\n%s:\n", strings.Join(slices.Compact(names), ", "))
		a.printf("%s", lines(r.found.Draw()))
	}
	if len(drawn) > 0 {
		a.printf("\nEach line is a term; lines meet where numbers are added. *: fused with its addition.\n")
	}
}

// saveOrders writes a figure of each order of few terms.
func saveOrders(dir string, groups []*orderGroup) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("--draw %s: %w", dir, regular.Cause(err))
	}
	names := map[string]int{}
	for _, g := range groups {
		for _, r := range g.rows {
			if r.found == nil || r.Terms > order.MostDrawn {
				continue
			}
			name := strings.ReplaceAll(strings.ReplaceAll(g.operation, ",", ""), " ", "-")
			name = fmt.Sprintf("order-%s-%s-%d", name, g.family, r.Terms)
			if names[name]++; names[name] > 1 {
				name += fmt.Sprintf("-%d", names[name])
			}
			f := plot.Tree{Title: fmt.Sprintf("%s of %s, %d terms: %s", g.operation, g.family, r.Terms, r.Order),
				Root: treeOf(r.found.Root)}
			if r.Fused != "-" && r.Fused != "no" {
				f.Marked = "product fused with its addition"
			}
			if err := plot.Save(filepath.Join(dir, name), f); err != nil {
				return fmt.Errorf("--draw %s: %w", dir, err)
			}
		}
	}
	return nil
}

// treeOf returns a tree as plot draws it.
func treeOf(n *order.Node) plot.TreeNode {
	if len(n.Children) == 0 {
		return plot.TreeNode{Label: fmt.Sprint(n.Leaf), Mark: n.Fused}
	}
	var t plot.TreeNode
	for _, c := range n.Children {
		t.Children = append(t.Children, treeOf(c))
	}
	return t
}

// dumpOrder writes the probes of an implementation in another language.
func (a *app) dumpOrder(o checkFlags) error {
	list, err := parseTerms(o.terms, order.MostInFiles)
	if err == nil && len(list) > 1 {
		err = fmt.Errorf("--terms %s: expected one number with --dump", o.terms)
	}
	if err != nil {
		return err
	}
	release, err := openFolder("--dump", o.dump)
	if err != nil {
		return err
	}
	defer release()
	n, err := order.Dump(o.dump, list[0])
	if err != nil {
		return fmt.Errorf("--dump: %w", err)
	}
	a.note("%d probes of %d terms in %s. Write the sum of the products of each row of %s and %s to %s there, then:\n"+
		"%s\n", n, list[0], o.dump, order.AFile, order.BFile, order.ResultsFile,
		quote.Command("check", "--order", "--judge", o.dump))
	return nil
}

// judgeOrder says how the implementation that answered the probes adds, and which operations of the engine are equal.
func (a *app) judgeOrder(ctx context.Context, o checkFlags) error {
	if err := a.orderFiles(o).Check(); err != nil {
		return err
	}
	t, err := a.tierSetting()
	if err != nil {
		return err
	}
	found, err := order.Judge(o.judge)
	if err != nil {
		return fmt.Errorf("--judge %w", err)
	}
	e, err := engine.New(engine.WithTier(t), engine.WithThreads(1))
	if err != nil {
		return err
	}
	defer e.Close()
	x := order.Implementation{Operation: "sum of products", Name: order.ResultsFile}
	groups, rows, err := a.findOrders(ctx, order.OfEngine(e), []int{found.N})
	if err != nil {
		return err
	}
	row := newOrderRow(x, found.N, found, nil)
	g := &orderGroup{x.Operation, x.Name, []string{""}, []string{""}, []orderRow{row}}
	if err := a.orderTable(append([]*orderGroup{g}, groups...)); err != nil {
		return err
	}
	if found.N <= 33 {
		a.drawOrders([]*orderGroup{g})
	}
	if o.draw != "" {
		if err := saveOrders(o.draw, []*orderGroup{g}); err != nil {
			return err
		}
	}
	return a.writeJSON(orderResult{sysinfo.ReadMachine(), append([]orderRow{row}, rows...)})
}
