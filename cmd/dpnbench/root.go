package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"

	"dpnbench/internal/mpi"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// app is one run of the command: its output and the flags that all subcommands share.
type app struct {
	out            printer
	stderr         *os.File
	progress       *progress // on standard error; nil: that is no terminal
	args           []string
	afterInterrupt string       // what to print after "interrupted"
	logger         *slog.Logger // of a run of sweep; nil: one to standard error
	failure        error        // why the command failed
	world          *mpi.World   // this process as a rank; nil: it is the only one
	unranked       error        // why it cannot be one

	json    string
	tier    string
	route   string
	threads string
	quiet   bool
	explain bool
	verbose bool
}

const rootHelp = `dpnbench trains, benchmarks and analyses Denoising Potential Networks on the CPU,
with hand-written kernels that give the same bits on every machine.

Start with "dpnbench demo": it needs no download and takes under two minutes.

"dpnbench completion bash --help" says how to complete commands, flags and values in a shell (also
zsh, fish and powershell).

Exit status: 0 success; 1 the requested check, test or comparison failed; 2 wrong usage or
unusable input; 3 internal error, a bug; 130 interrupted by Ctrl-C, kill or a lost terminal;
141 results not read to the end, as in "| head" (files are written all the same).
The first interrupt saves what can be resumed and stops, usually within a second; a second one
stops immediately.`

func (a *app) command() *cobra.Command {
	showVersion := false
	root := &cobra.Command{
		Use:           "dpnbench",
		Short:         "Train, benchmark and analyse Denoising Potential Networks on the CPU",
		Long:          rootHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noSubcommand(c, args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if showVersion {
				return a.version()
			}
			return c.Help()
		},
	}
	root.Flags().BoolVarP(&showVersion, "version", "v", false, "print the version, like the command version")
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		if err := a.help(c); err != nil && a.out.err == nil {
			a.out.err = err
		}
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	f := root.PersistentFlags()
	f.StringVar(&a.json, "json", "", "write the results as JSON to `FILE` (- for standard output)")
	f.StringVar(&a.tier, "tier", "",
		"`TIER` of kernels: auto, avx512, avx2, neon, generic (also DPN_TIER; default auto)")
	f.StringVar(&a.threads, "threads", "", "`N` threads (also DPN_THREADS; default: all CPUs the process may use)")
	f.BoolVar(&a.quiet, "quiet", false, "print results only, no progress")
	f.BoolVar(&a.verbose, "verbose", false, "log details to standard error")
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		if a.json == "/dev/stdout" { // may be redirected to a file, which must not be replaced
			a.json = "-"
		}
		if a.quiet {
			a.progress, a.out.progress = nil, nil
		}
		a.phase(c.Name())
		if err := a.checkRanks(c); err != nil {
			return err
		}
		if err := refuseEmpty(c.Flags()); err != nil {
			return err
		}
		return a.checkEngine(c)
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if missing, ok := errors.AsType[*pflag.NotExistError](err); ok {
			return noFlag(c, a.args, missing)
		}
		return fmt.Errorf("%w (see %q)", flagProblem(err), c.CommandPath()+" --help")
	})
	ascending := []*cobra.Command{
		demoCommand(a), trainCommand(a), sweepCommand(a), evalCommand(a), predictCommand(a),
		analyzeCommand(a), uncertaintyCommand(a), sampleCommand(a), denoiseCommand(a), reproduceCommand(a),
	}
	for _, c := range ascending {
		c.Flags().StringVar(&a.route, "route", "", "`ROUTE` of the ascent: dense (all components), sparse "+
			"(the ones that matter) or auto (the faster one); same bits (also DPN_ROUTE; default auto)")
	}
	root.AddCommand(ascending...)
	root.AddCommand(infoCommand(a), separationCommand(a), dataCommand(a), exportCommand(a), importCommand(a))
	root.AddCommand(checkCommand(a), benchCommand(a)) // they choose routes themselves
	root.AddCommand(versionCommand(a), presetsTopic(a.helpColumns()))
	helpCommand(root)
	decimalFlags(root)
	completions(root)
	return root
}

// helpCommand replaces the argument check of cobra's help command, which by itself shows the
// root's help for an unknown subcommand.
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
	help.ValidArgsFunction = func(_ *cobra.Command, args []string, typed string) (list []string,
		_ cobra.ShellCompDirective) {
		c, rest, err := root.Find(args)
		if err == nil && len(rest) == 0 {
			for _, s := range c.Commands() {
				if described(s) && strings.HasPrefix(s.Name(), typed) {
					list = append(list, s.Name()+"\t"+s.Short)
				}
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// described says whether help describes a command: one that can be called, or a text.
func described(c *cobra.Command) bool {
	return c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand()
}

func subcommands(c *cobra.Command) []string {
	var names []string
	for _, s := range c.Commands() {
		if described(s) {
			names = append(names, s.Name())
		}
	}
	return names
}

// noArgs refuses arguments that are not flags.
func noArgs(c *cobra.Command, args []string) error {
	switch {
	case len(args) > 0 && c.HasAvailableSubCommands():
		return noSubcommand(c, args[0])
	case len(args) > 0:
		return fmt.Errorf("%s takes no argument %q (see %q)", c.Name(), args[0], c.CommandPath()+" --help")
	}
	return nil
}

// flagProblem rewords an error of the flag parser about a value.
func flagProblem(err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	if _, ok := invalid.GetFlag().Value.(word); ok {
		return fmt.Errorf("--%s %q: %w", invalid.GetFlag().Name, invalid.GetValue(), errors.Unwrap(invalid))
	}
	expected, ok := map[string]string{
		"bool":    "true or false",
		"int":     "a whole number",
		"uint64":  "a whole number from 0 to 9223372036854775807", // all are seeds, limited by dpn.Config
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

// emptyAllowed annotates flags whose empty value has a meaning.
const emptyAllowed = "empty-allowed"

// allowEmpty lets a flag be given without a value, as in --hidden "".
func allowEmpty(flags *pflag.FlagSet, name string) {
	if err := flags.SetAnnotation(name, emptyAllowed, nil); err != nil {
		panic(err) // no such flag
	}
}

// refuseEmpty refuses a flag that was given without a value, as in --tier "": most often the
// value was an unset variable. Flags of allowEmpty are exempt.
func refuseEmpty(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		empty := f.Value.Type() == "string" && f.Value.String() == ""
		if list, ok := f.Value.(pflag.SliceValue); ok {
			empty = len(list.GetSlice()) == 0 || slices.Contains(list.GetSlice(), "")
		}
		if _, allowed := f.Annotations[emptyAllowed]; empty && !allowed {
			err = fmt.Errorf("--%s: expected a value, got none", f.Name)
		}
	})
	return err
}

// notZero refuses 0 for a flag whose default, not a number that a user may mean, is stored as 0.
func notZero(flags *pflag.FlagSet, name, expected string) error {
	if f := flags.Lookup(name); f.Changed && f.Value.String() == "0" {
		return fmt.Errorf("--%s 0: expected %s", name, expected)
	}
	return nil
}

// notWith refuses flags that were given although they have no effect with another one.
func notWith(flags *pflag.FlagSet, other string, names ...string) error {
	for _, name := range names {
		if f := flags.Lookup(name); f.Changed {
			return fmt.Errorf("--%s %s: cannot be combined with %s", name, f.Value, other)
		}
	}
	return nil
}

// onlyWith refuses flags that were given although they have no effect without others.
func onlyWith(flags *pflag.FlagSet, others string, names ...string) error {
	for _, name := range names {
		if f := flags.Lookup(name); f.Changed {
			return fmt.Errorf("--%s %s: only with %s", name, f.Value, others)
		}
	}
	return nil
}
