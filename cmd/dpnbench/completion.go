package main

import (
	"strings"

	"dpnbench/bench"
	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/engine/ascent"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// choices are the values of flags that a shell completes, by the name of the flag. Those of a word are in its value.
var choices = map[string]func() []string{
	"preset":    dpn.Presets,
	"presets":   dpn.Presets,
	"check":     dpn.Presets,
	"extractor": dpn.Extractors,
	"form":      potential.Forms,
	"init":      dpn.Inits,
	"gradient":  dpn.Gradients,
	"optimiser": fixed(dpn.Adam, dpn.Adadelta),
	"schedule":  fixed(layer.Constant, layer.Cosine, layer.Decay),
	"centre":    dataset.Centrings,
	"channels":  dataset.ChannelKinds,
	"format":    source.Formats,
	"suite":     bench.Suites,
	"route":     ascent.Routes,
	"tier":      tierNames,
	"corrupt":   corruptionNames,
	"data":      dataNames,
	"val-data":  dataNames,
	"ood-data":  dataNames,
}

// endings are those of the files that a flag takes.
var endings = map[string][]string{
	"model":    {"safetensors"},
	"baseline": {"safetensors"},
	"config":   {"toml"},
}

func fixed(words ...string) func() []string { return func() []string { return words } }

func dataNames() []string { return append([]string{"digits"}, source.Named()...) }

func tierNames() []string {
	names := []string{"auto"}
	for _, t := range engine.Available() {
		names = append(names, t.String())
	}
	return names
}

// corruptionNames are those of --corrupt, each with what follows it.
func corruptionNames() []string {
	var names []string
	for _, k := range dataset.CorruptionKinds() {
		if k.MNISTC() != "" {
			names = append(names, k.Name)
		} else {
			names = append(names, k.Name+":")
		}
	}
	return names
}

// completionCommand adds cobra's command for the command line args, and makes it refuse an unknown shell.
func completionCommand(root *cobra.Command, args []string) {
	root.InitDefaultCompletionCmd(args...)
	if c, _, err := root.Find([]string{"completion"}); err == nil {
		c.Args, c.RunE = noArgs, func(c *cobra.Command, _ []string) error { return c.Help() }
	}
}

// completions adds to a command and those below it what a shell completes.
func completions(c *cobra.Command) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		of := choices[f.Name]
		if w, ok := f.Value.(word); ok {
			of = fixed(w.of...)
		}
		var complete cobra.CompletionFunc
		switch {
		case endings[f.Name] != nil:
			complete = cobra.FixedCompletions(endings[f.Name], cobra.ShellCompDirectiveFilterFileExt)
		case of != nil:
			complete = func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
				return completed(f, of(), typed)
			}
		default:
			return // files
		}
		if err := c.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
			panic(err) // the flag exists
		}
	})
	for _, s := range c.Commands() {
		completions(s)
	}
}

// dataArgument completes the data that a command takes as its argument: a name or a file.
func dataArgument(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list []string
	for _, v := range dataNames() {
		if strings.HasPrefix(v, typed) {
			list = append(list, v)
		}
	}
	return list, cobra.ShellCompDirectiveDefault
}

// completed returns the values of a flag that go on from what is typed; of a list, its last element.
func completed(f *pflag.Flag, values []string, typed string) ([]string, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	before := ""
	if _, slice := f.Value.(pflag.SliceValue); slice {
		before = typed[:strings.LastIndex(typed, ",")+1]
		directive |= cobra.ShellCompDirectiveNoSpace // a comma may follow
	}
	if strings.HasSuffix(f.Name, "data") {
		directive = cobra.ShellCompDirectiveDefault // or a file
	}
	var list []string
	for _, v := range values {
		if v = before + v; strings.HasPrefix(v, typed) {
			list = append(list, v)
		}
	}
	return list, directive
}
