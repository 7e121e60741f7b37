package main

import (
	"context"
	"fmt"
	"net/url"

	"dpnbench/dataset"
	"dpnbench/dataset/fetch"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
)

func dataCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "data",
		Short: "Fetch data sets",
		Long: `Fetch data sets. There is one to fetch, MNIST; the digits that are built in need nothing, and
a folder with IDX files of your own is given to --data as it is.`,
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
		Long: `Download the four files of MNIST, check their SHA-256, and put them where "--data mnist"
looks for them: the user's cache directory, unless --out says another folder. A download
that was cut is taken up where it ended.`,
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
	command.Flags().StringVar(&out, "out", "", "`FOLDER` to put the files in")
	command.Flags().StringArrayVar(&mirrors, "mirror", nil, "`URL` of a folder with the files, in the place of the usual ones (repeatable)")
	c.AddCommand(command)
	return c
}

func (a *app) fetch(ctx context.Context, out string, mirrors []string) error {
	for _, m := range mirrors {
		if u, err := url.Parse(m); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("--mirror %s: expected an address that begins with http:// or https://", m)
		}
	}
	if out == "" {
		dir, err := dataset.MNISTDir()
		if err != nil {
			return err
		}
		out = dir
	}
	if err := outputFolder("--out", out); err != nil {
		return err
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
	if err := a.writeJSON(map[string]string{"folder": out}); err != nil {
		return err
	}
	a.printf("MNIST is in %s\n", out)
	return nil
}
