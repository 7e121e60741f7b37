package main

import (
	"context"
	"fmt"
	"net/url"
	"os"

	"dpnbench/dataset/fetch"
	"dpnbench/dataset/source"
	"dpnbench/internal/output"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
)

func dataCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "data",
		Short: "Download data sets",
		Long: `Download data sets; the only one so far is MNIST. The built-in digits need no download, and
--data accepts a folder with your own IDX files.`,
		Example: `  dpnbench data fetch mnist
  dpnbench train --data mnist`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("data: no subcommand %q, expected fetch", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	var out string
	var mirrors []string
	command := &cobra.Command{
		Use:   "fetch mnist",
		Short: "Download MNIST",
		Long: `Download the four files of MNIST, verify their SHA-256 and put them where "--data mnist" searches
for them: the user's cache directory, or the folder of --out. An interrupted download is resumed.`,
		Example: `  dpnbench data fetch mnist
  dpnbench data fetch mnist --out mnist    # then: --data mnist/ or DPN_DATA=mnist`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != "mnist" {
				return fmt.Errorf("data fetch: expected one name, mnist")
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return a.fetch(c.Context(), out, mirrors) },
	}
	command.Flags().StringVar(&out, "out", "", "`FOLDER` for the files (default: the user's cache directory)")
	command.Flags().StringArrayVar(&mirrors, "mirror", nil,
		"`URL` of a folder with the files, instead of the usual mirrors (repeatable)")
	c.AddCommand(command)
	return c
}

func (a *app) fetch(ctx context.Context, out string, mirrors []string) error {
	for _, m := range mirrors {
		if u, err := url.Parse(m); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("--mirror %s: expected an address that starts with http:// or https://",
				fetch.Redact(m))
		}
	}
	if out == "" {
		dir, err := source.MNISTDir()
		if err != nil {
			return err
		}
		out = dir
	}
	var own []string
	for _, name := range source.FetchedFiles() {
		own = append(own, name, name+".part")
	}
	files := a.files()
	files.Folder("--out", out, output.Names(own...), "")
	if err := files.Check(); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("--out %s: %w", out, reason(err))
	}
	bars := map[string]*progressbar.ProgressBar{}
	err := fetch.Files(ctx, out, fetch.Options{Mirrors: mirrors, Progress: func(name string, done, total int64) {
		b, ok := bars[name]
		if !ok {
			b = a.bar(int(total), name)
			bars[name] = b
		}
		set(b, int(done))
	}})
	for _, b := range bars {
		finish(b)
	}
	if err != nil {
		return err
	}
	a.printf("MNIST is in %s\n", out)
	return a.writeJSON(map[string]string{"folder": out})
}
