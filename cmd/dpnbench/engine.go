package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/engine/ascent"

	"github.com/spf13/cobra"
)

// setting returns the value of a flag or else of its environment variable, and which of the two
// it is from.
func setting(flag, value, env string) (v, from string) {
	if value != "" {
		return value, flag
	}
	return os.Getenv(env), env
}

// tierSetting returns the tier that was asked for.
func (a *app) tierSetting() (engine.Tier, error) {
	name, from := setting("--tier", a.tier, "DPN_TIER")
	if name == "" {
		return engine.Auto, nil
	}
	t, err := engine.ParseTier(name)
	if err != nil {
		return t, fmt.Errorf("%s: %w", from, err)
	}
	for _, i := range engine.Tiers() {
		if i.Tier == t && !i.Available {
			return t, fmt.Errorf("%s %s: not available: %s", from, name, i.Reason)
		}
	}
	return t, nil
}

// routeSetting returns the route that was asked for.
func (a *app) routeSetting() (ascent.Route, error) {
	name, from := setting("--route", a.route, "DPN_ROUTE")
	if name == "" {
		return ascent.AutoRoute, nil
	}
	r, err := ascent.ParseRoute(name)
	if err != nil {
		return r, fmt.Errorf("%s: %w", from, err)
	}
	return r, nil
}

// threadsSetting returns the number of threads that was asked for, or 0.
func (a *app) threadsSetting() (int, error) {
	text, from := setting("--threads", a.threads, "DPN_THREADS")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > engine.MaxThreads {
		return 0, fmt.Errorf("%s %s: expected a whole number from 1 to %d", from, text, engine.MaxThreads)
	}
	return n, nil
}

// engine makes the engine that the flags ask for.
func (a *app) engine() (*engine.Engine, error) {
	t, err := a.tierSetting()
	if err != nil {
		return nil, err
	}
	n, err := a.threadsSetting()
	if err != nil {
		return nil, err
	}
	if _, err := a.routeSetting(); err != nil { // of models, see setRoute
		return nil, err
	}
	options := []engine.Option{engine.WithTier(t)}
	if n > 0 {
		options = append(options, engine.WithThreads(n))
	}
	return engine.New(options...)
}

// checkEngine refuses wrong values of the flags of an engine, also for commands that make none.
func (a *app) checkEngine(c *cobra.Command) (err error) {
	flags := c.Flags()
	if flags.Changed("tier") {
		_, err = a.tierSetting()
	}
	if err == nil && flags.Changed("threads") && c.Name() != "bench" { // which takes several numbers
		_, err = a.threadsSetting()
	}
	if err == nil && flags.Changed("route") {
		_, err = a.routeSetting()
	}
	_, path, _ := strings.Cut(c.CommandPath(), " ")
	for _, name := range withoutEngine {
		if err == nil && (path == name || strings.HasPrefix(path, name+" ")) {
			err = notWith(flags, path+", which runs no kernel", "tier", "threads")
		}
	}
	return err
}

// withoutEngine are the commands, and groups of them, for which the flags of an engine do nothing.
var withoutEngine = []string{"bench compare", "data", "import"}

// setRoute gives a model the route that was asked for.
func (a *app) setRoute(m *dpn.Model) error {
	r, err := a.routeSetting()
	if err == nil {
		m.SetRoute(r)
	}
	return err
}

// addExplain adds --explain to a subcommand that runs ascents.
func (a *app) addExplain(c *cobra.Command) {
	c.Flags().BoolVar(&a.explain, "explain", false, "print how the ascent is divided among threads, and why")
}

// explainAscent does what --explain asks for.
func (a *app) explainAscent(e *engine.Engine, m *dpn.Model, s *dataset.Set, training bool) {
	if a.explain {
		a.printf("%s\n", lines(m.Explain(e, s, training)))
	}
}
