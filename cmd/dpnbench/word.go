package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// word is the value of a flag that takes one of a few words. A shell completes them.
type word struct {
	value *string
	of    []string
}

// wordVar adds a flag that takes one of a few words.
func wordVar(flags *pflag.FlagSet, value *string, name, preset string, of []string, usage string) {
	*value = preset
	flags.Var(word{value, of}, name, usage)
}

// String implements pflag.Value.
func (w word) String() string { return *w.value }

// Type implements pflag.Value.
func (w word) Type() string { return "string" }

// Set implements pflag.Value. refuseEmpty refuses the empty word.
func (w word) Set(s string) error {
	if s != "" && !slices.Contains(w.of, s) {
		return errors.New("expected " + alternatives(w.of))
	}
	*w.value = s
	return nil
}

// alternatives lists words: a, b or c.
func alternatives(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
