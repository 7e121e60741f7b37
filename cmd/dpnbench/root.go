package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/internal/atomicfile"
	"dpnbench/internal/folderlock"
	"dpnbench/internal/sysinfo"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// app is one run of the command: where it prints, and the flags that every subcommand has.
type app struct {
	stdout, stderr *os.File

	printError     error  // the first one of standard output
	afterInterrupt string // what to say after "interrupted"

	json    string
	tier    string
	route   string
	threads string
	quiet   bool
	explain bool
	verbose bool
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "dpnbench",
		Short: "Train, benchmark and dissect Denoising Potential Networks on the CPU",
		Long: `dpnbench trains, benchmarks and dissects Denoising Potential Networks on the CPU,
with hand-written kernels that give the same bits on every machine.

Start with "dpnbench demo": it needs nothing and takes under two minutes.

Exit status: 0 done; 1 the check, test or comparison that was asked for failed; 2 wrong usage
or unusable input; 3 an internal error, which is a mistake of this program's; 130 interrupted:
by Ctrl-C, kill or a lost terminal, which end the command between two steps of its work. A
second one ends it at once.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("no subcommand %q, expected one of %s", args[0], subcommands(c))
			}
			return nil
		},
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
		Version: version(),
	}
	root.SetVersionTemplate("dpnbench {{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = true
	f := root.PersistentFlags()
	f.StringVar(&a.json, "json", "", "write the results as JSON to `FILE` (- for standard output)")
	f.StringVar(&a.tier, "tier", "", "`TIER` of kernels: auto, avx512, avx2, neon, generic (also DPN_TIER; default auto)")
	f.StringVar(&a.threads, "threads", "", "`N` threads (also DPN_THREADS; default: what the process may use)")
	f.BoolVar(&a.quiet, "quiet", false, "print results only, no progress")
	f.BoolVar(&a.verbose, "verbose", false, "log what happens to standard error")
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		if a.json == "/dev/stdout" { // it may lead to a file, which must not be replaced
			a.json = "-"
		}
		return emptyFlag(c.Flags())
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w (see %q)", flagProblem(err), c.CommandPath()+" --help")
	})
	ascending := []*cobra.Command{demoCommand(a), infoCommand(a), trainCommand(a), evalCommand(a), analyzeCommand(a), uncertaintyCommand(a), sampleCommand(a), denoiseCommand(a), reproduceCommand(a)}
	for _, c := range ascending {
		c.Flags().StringVar(&a.route, "route", "", "`ROUTE` of ascents: dense, all components; sparse, those that matter; auto, the faster (also DPN_ROUTE; default auto; changes no bit)")
	}
	root.AddCommand(ascending...)
	root.AddCommand(checkCommand(a), benchCommand(a), dataCommand(a)) // check and bench choose routes themselves
	helpCommand(root)
	return root
}

// helpCommand gives root cobra's help command, which by itself takes what is no subcommand
// for a question about root.
func helpCommand(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		panic(err) // it has just been added
	}
	help.Short = "Describe a command"
	help.Long = "Describe a command, as its --help does."
	help.Example = "  dpnbench help train\n  dpnbench help bench compare"
	help.Args = func(_ *cobra.Command, args []string) error {
		c, rest, err := root.Find(args)
		if err != nil || len(rest) == 0 {
			return err
		}
		return c.ValidateArgs(rest)
	}
}

// flagProblem says in plain words what the flag parser reports of a value.
func flagProblem(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	expected, ok := map[string]string{
		"bool":    "true or false",
		"int":     "a whole number",
		"uint64":  "a whole number from 0 to 9223372036854775807", // all of them are seeds, which dpn.Config limits
		"float64": "a number",
	}[invalid.GetFlag().Value.Type()]
	if !ok {
		return err
	}
	problem := ""
	if errors.Is(err, strconv.ErrRange) {
		problem = "out of range, "
	}
	return fmt.Errorf("--%s %q: %sexpected %s", invalid.GetFlag().Name, invalid.GetValue(), problem, expected)
}

// emptyFlag refuses a flag that was given without a value, as in --tier "", because that
// is more often a variable that is not set than a wish for the default.
func emptyFlag(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		empty := f.Value.Type() == "string" && f.Value.String() == ""
		if list, ok := f.Value.(pflag.SliceValue); ok {
			empty = len(list.GetSlice()) == 0
		}
		if empty && f.Name != "hidden" && f.Name != "filter" { // no hidden layers, and all rows
			err = fmt.Errorf("--%s: expected a value, got none", f.Name)
		}
	})
	return err
}

// onlyWith refuses flags that were given though they mean nothing without others.
func onlyWith(flags *pflag.FlagSet, others string, names ...string) error {
	for _, name := range names {
		if f := flags.Lookup(name); f.Changed {
			return fmt.Errorf("--%s %s: only with %s", name, f.Value, others)
		}
	}
	return nil
}

// version says what was built, and with what.
func version() string { return sysinfo.Version() + " " + runtime.Version() }

func subcommands(c *cobra.Command) string {
	var names []string
	for _, s := range c.Commands() {
		if s.IsAvailableCommand() {
			names = append(names, s.Name())
		}
	}
	return strings.Join(names, ", ")
}

// noArgs refuses arguments that are not flags.
func noArgs(c *cobra.Command, args []string) error {
	switch {
	case len(args) > 0 && c.HasAvailableSubCommands():
		return fmt.Errorf("%s: no subcommand %q, expected %s or none", c.Name(), args[0], subcommands(c))
	case len(args) > 0:
		return fmt.Errorf("%s takes no argument %q (see %q)", c.Name(), args[0], c.CommandPath()+" --help")
	}
	return nil
}

// setting returns a flag's value, or that of its environment variable, and where it is from.
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
func (a *app) routeSetting() (engine.Route, error) {
	name, from := setting("--route", a.route, "DPN_ROUTE")
	if name == "" {
		return engine.AutoRoute, nil
	}
	r, err := engine.ParseRoute(name)
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
	r, err := a.routeSetting()
	if err != nil {
		return nil, err
	}
	options := []engine.Option{engine.WithTier(t), engine.WithRoute(r)}
	if n > 0 {
		options = append(options, engine.WithThreads(n))
	}
	return engine.New(options...)
}

// printf prints a line of results. With --json - the JSON has standard output to itself.
func (a *app) printf(format string, args ...any) {
	if a.json == "-" {
		return
	}
	if _, err := fmt.Fprintf(a.stdout, format, args...); err != nil && a.printError == nil {
		a.printError = err
	}
}

// addExplain adds --explain to a subcommand that makes ascents.
func (a *app) addExplain(c *cobra.Command) {
	c.Flags().BoolVar(&a.explain, "explain", false, "say how the threads will share the ascents, and why")
}

// explainAscent does what --explain asks for.
func (a *app) explainAscent(e *engine.Engine, m *dpn.Model, s *dataset.Set, training bool) {
	if a.explain {
		a.printf("%s\n", m.Explain(e, s, training))
	}
}

// note prints what is not a result, unless --quiet.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		a.printf(format, args...)
	}
}

// table prints rows of cells in aligned columns, the first row as the head.
func (a *app) table(rows [][]string) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join(r, "\t")+"\t")
	}
	w.Flush()
	a.printf("%s", b.String())
}

// writeJSON writes the results where --json says, if it does.
func (a *app) writeJSON(v any) error {
	if a.json == "" {
		return nil
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	b = append(b, '\n')
	if a.json == "-" {
		_, err = a.stdout.Write(b)
		return err
	}
	if err := writeFile(a.json, b); err != nil {
		return fmt.Errorf("--json %w", err)
	}
	return nil
}

// saveJSON writes results to a file of a folder of results.
func saveJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(path, append(b, '\n'))
}

// checkJSON fails early when the file of --json cannot be written, or is one of the
// inputs.
func (a *app) checkJSON(inputs ...string) error {
	if a.json == "-" {
		return nil
	}
	return writable("--json", a.json, inputs...)
}

// writable fails when the file that a flag names cannot be written, or is one of the
// inputs.
func writable(flag, path string, inputs ...string) error {
	if path == "" {
		return nil
	}
	st, err := os.Stat(path)
	for _, in := range inputs {
		if i, ierr := os.Stat(in); err == nil && ierr == nil && os.SameFile(st, i) {
			return fmt.Errorf("%s %s: is the input %s", flag, path, in)
		}
	}
	if err == nil && !st.Mode().IsRegular() {
		return nil // a reader of a pipe takes the first close for the end
	}
	if err == nil {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("%s %s: %w", flag, path, reason(err))
		}
		return f.Close()
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".writable")
	if err != nil {
		return fmt.Errorf("%s %s: %w", flag, path, reason(err))
	}
	f.Close()
	return os.Remove(f.Name())
}

// sameFile says whether two flags name one regular file, there or not.
func sameFile(a, b string) bool {
	if a == "" || b == "" || a == "-" || b == "-" {
		return false
	}
	sa, errA := os.Stat(a)
	sb, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(sa, sb) && sa.Mode().IsRegular()
	}
	a, errA = filepath.Abs(a)
	b, errB = filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}

// writeFile replaces a file, or what a link points to, as a whole. What is not a regular
// file (a pipe, a device) is written to.
func writeFile(path string, b []byte) error {
	write := func(w io.Writer) error { _, err := w.Write(b); return err }
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			err = errors.Join(write(f), f.Close())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, reason(err))
		}
		return nil
	}
	target := path
	if t, err := filepath.EvalSymlinks(path); err == nil {
		target = t
	}
	if err := atomicfile.Write(target, write); err != nil {
		return fmt.Errorf("%s: %w", path, reason(err))
	}
	return nil
}

// reason strips the path from an error of the file system: the message names it already.
func reason(err error) error {
	if pe, ok := err.(*os.PathError); ok {
		return pe.Err
	}
	return err
}

// outputFolder makes a folder for results, and fails when nothing can be written to it.
func outputFolder(flag, path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("%s %s: %w", flag, path, reason(err))
	}
	f, err := os.CreateTemp(path, ".writable")
	if err != nil {
		return fmt.Errorf("%s %s: %w", flag, path, reason(err))
	}
	f.Close()
	return os.Remove(f.Name())
}

// lockFolder keeps other processes from writing results to a folder until release is called.
func lockFolder(flag, path string) (release func(), err error) {
	release, err = folderlock.Acquire(path)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w; expected one that no other run writes to", flag, path, reason(err))
	}
	return release, nil
}

// log returns where to log: standard error with --verbose, otherwise only warnings. clear
// takes away what stands in their line, such as a progress bar.
func (a *app) log(clear func()) *slog.Logger {
	level := slog.LevelWarn
	if a.verbose {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(cleared{a.stderr, clear}, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, attr slog.Attr) slog.Attr {
		if attr.Key == slog.TimeKey && !a.verbose {
			return slog.Attr{}
		}
		return attr
	}}))
}

// cleared is a writer to a line that must be cleared first.
type cleared struct {
	w     io.Writer
	clear func()
}

func (c cleared) Write(b []byte) (int, error) {
	c.clear()
	return c.w.Write(b)
}

// bar shows progress on standard error, if that is a terminal. It may be nil.
func (a *app) bar(all int, what string) *progressbar.ProgressBar {
	if a.quiet || !term.IsTerminal(int(a.stderr.Fd())) {
		return nil
	}
	return progressbar.NewOptions(all,
		progressbar.OptionSetWriter(a.stderr),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100_000_000), // nanoseconds
		progressbar.OptionClearOnFinish())
}

func set(b *progressbar.ProgressBar, n int) {
	if b != nil {
		b.Set(n)
	}
}

func finish(b *progressbar.ProgressBar) {
	if b != nil {
		b.Finish()
	}
}

// dataFlags are the flags that choose pictures.
type dataFlags struct {
	data                string
	trainSize, testSize int
	seed                uint64
}

// add adds the flags; those that only training needs with train.
func (d *dataFlags) add(c *cobra.Command, train bool) {
	f := c.Flags()
	if train {
		f.StringVar(&d.data, "data", "", "`WHAT` to use: digits (built in, the default), mnist, or a folder with IDX files")
		f.IntVar(&d.trainSize, "train-size", 0, "take the first N training pictures (digits: draw so many); 0: all")
	} else {
		f.StringVar(&d.data, "data", "", "`WHAT` to use: digits, mnist, or a folder with IDX files (default: what the model was trained on)")
	}
	f.IntVar(&d.testSize, "test-size", 0, "take the first N test pictures (digits: draw so many); 0: all")
	f.Uint64Var(&d.seed, "data-seed", 1, "draw of the built-in digits")
}

// settle puts the flags that were given in the place of the data settings of c.
func (d *dataFlags) settle(flags *pflag.FlagSet, c *dpn.Config) {
	flags.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "data":
			c.Data = d.data
			if !flags.Changed("train-size") { // sizes of other pictures mean nothing
				c.TrainSize = 0
			}
			if !flags.Changed("test-size") {
				c.TestSize = 0
			}
		case "train-size":
			c.TrainSize = d.trainSize
		case "test-size":
			c.TestSize = d.testSize
		case "data-seed":
			c.DataSeed = d.seed
		}
	})
}

// openData opens the pictures that the settings name, those for training only where they are
// needed.
func openData(ctx context.Context, c dpn.Config, train bool) (*dataset.Data, error) {
	data, err := dataset.OpenContext(ctx, c.Data, dataset.Options{TrainSize: c.TrainSize, TestSize: c.TestSize, Seed: c.DataSeed, TestOnly: !train})
	var size *dataset.SizeError
	if errors.As(err, &size) {
		return nil, fmt.Errorf("--%s-size %d: %s", size.Split, size.Size, size.Problem)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("--data: %s", strings.TrimSuffix(err.Error(), ": "+os.ErrNotExist.Error()))
	}
	return data, nil
}
