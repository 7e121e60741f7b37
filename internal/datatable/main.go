// Command datatable makes the tables of results in docs/data.md from real files:
//
//	make data-table                 # after: dpnbench data fetch mnist, dpnbench data fetch fashion-mnist
//	make data-table DATA=FOLDER     # with MNIST and Fashion-MNIST in folders of these names there
//
// It writes both data sets in every format that can hold them, trains on each with the command, as a user
// does, and compares the weights where the data are equal. Small tables come from scikit-learn
// (tables.py), whose logistic regression has the same folds. Results that are in the folder of -work from
// an earlier run are not made again. DPN_THREADS sets the number of threads, as everywhere.
//
// The exit status is 1 if weights differ, or if an accuracy is below that of logistic regression or what
// a row of the table of images promises.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"dpnbench/internal/output"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "datatable:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	data := flag.String("data", "",
		"`FOLDER` with the folders mnist and fashion-mnist (default: where data fetch put them)")
	program := flag.String("program", "./dpnbench", "`FILE` of the command")
	work := flag.String("work", "", "`FOLDER` for files and results, which stay there (default: a temporary one)")
	page := flag.String("page", "docs/data.md", "`FILE` that gets the tables")
	python := flag.String("python", "", "Python with scikit-learn (default: the first of python3 and /usr/bin/python3)")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if *data != "" {
		dir, err := filepath.Abs(*data)
		if err != nil {
			return err
		}
		if err := os.Setenv("DPN_DATA", dir); err != nil {
			return err
		}
	}
	if _, err := pageParts(*page); err != nil { // before an hour of work
		return err
	}
	if *work == "" {
		dir, remove, err := output.TempDir("dpnbench-datatable-")
		if err != nil {
			return err
		}
		defer remove()
		*work = dir
	}
	c, err := newCommand(ctx, *program, *work)
	if err != nil {
		return err
	}
	var tables comparison
	if err := c.once("tables", &tables, func() error { return c.regression(&tables, *python) }); err != nil {
		return err
	}
	images, err := imageSets(c)
	if err != nil {
		return err
	}
	if err := c.folds(&tables); err != nil {
		return err
	}
	if err := writePage(*page, images, &tables); err != nil {
		return err
	}
	fmt.Println("the tables are in", *page)
	if failed := append(checkImages(images), checkTables(&tables)...); len(failed) > 0 {
		return errors.New(strings.Join(failed, "; "))
	}
	return nil
}
