package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"dpnbench/dataset/fetch"
	"dpnbench/dataset/source"
	"dpnbench/internal/output"
	"dpnbench/internal/regular"

	"github.com/spf13/cobra"
)

const dataHelp = `Look at, convert and download data sets. WHAT names one everywhere, as in --data:

  digits                 the built-in digits, which need no download
  mnist, fashion-mnist   what "data fetch" downloads
  mnist-c:FOLDER         the published arrays of MNIST-C: their clean images; in eval all
  FOLDER                 IDX files; NPY files such as x_train.npy; train.csv and test.csv; Parquet
                         files; CIFAR-10 or CIFAR-100 batches; or images: train/CLASS/*.png and
                         test/CLASS/*.png, or CLASS/*.png with --test-share
  FOLDER/BEGINNING       only the IDX files in the folder whose names begin so
  FILE                   .npz, .safetensors, .csv, .tsv, .parquet (also .csv.gz); images or features
                         without labels: an IDX file, .npy, or an image
  FILE,FILE              .csv or .parquet: training and test samples; .npy: samples and labels

docs/data.md says what each format may hold.`

func dataCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "data",
		Short: "Look at, convert and download data sets",
		Long:  dataHelp,
		Example: `  dpnbench data info iris.csv
  dpnbench data fetch fashion-mnist
  dpnbench train --data fashion-mnist`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(infoDataCommand(a), convertCommand(a), fetchCommand(a))
	return c
}

func fetchCommand(a *app) *cobra.Command {
	var out string
	var mirrors []string
	names := strings.Join(source.Named(), "|")
	c := &cobra.Command{
		Use:   "fetch " + names,
		Short: "Download MNIST or Fashion-MNIST",

		ValidArgs: source.Named(),
		Long: `Download the four files of MNIST or Fashion-MNIST, verify the SHA-256 of what they hold, and put
them where --data searches for them: a folder of their name in the user's cache directory, or the
folder of --out. An interrupted download is resumed.`,
		Example: `  dpnbench data fetch mnist
  dpnbench data fetch fashion-mnist
  dpnbench data fetch mnist --out mnist    # then: --data mnist/ or DPN_DATA=mnist`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(source.Named(), args[0]) {
				return fmt.Errorf("data fetch: expected one name, %s", strings.Join(source.Named(), " or "))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.fetch(c.Context(), args[0], out, mirrors)
		},
	}
	c.Flags().StringVar(&out, "out", "", "`FOLDER` for the files (default: the user's cache directory)")
	c.Flags().StringArrayVar(&mirrors, "mirror", nil,
		"`URL` of a folder with the files, instead of the usual mirrors (repeatable)")
	return c
}

func (a *app) fetch(ctx context.Context, name, out string, mirrors []string) error {
	wanted, usual := fetch.Named(name)
	for _, m := range mirrors {
		if u, err := url.Parse(m); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("--mirror %s: expected an address that starts with http:// or https://",
				fetch.Redact(m))
		}
	}
	if out == "" {
		dir, err := source.CacheDir(name)
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
		return fmt.Errorf("--out %s: %w", out, regular.Cause(err))
	}
	if mirrors == nil {
		mirrors = usual
	}
	if err := a.download(ctx, out, wanted, mirrors); err != nil {
		return err
	}
	a.printf("%s is in %s\n", source.Title(name), out)
	return a.writeJSON(map[string]string{"folder": out})
}

// download fetches files and shows how far each of them is.
func (a *app) download(ctx context.Context, out string, files []fetch.File, mirrors []string) error {
	fetching, report := "", func(int, int) {}
	progress := func(name string, done, total int64) {
		if name != fetching {
			short, _, _ := strings.Cut(name, "-idx") // train-images, for a narrow terminal
			fetching, report = name, a.phase(short)
		}
		report(int(done), int(total))
	}
	defer a.progress.end()
	return fetch.Files(ctx, out, fetch.Options{Files: files, Mirrors: mirrors, Progress: progress})
}
