package main

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"dpnbench/dpn"
)

// settle returns the settings that flags of train give. Those of one flag alone need not fit
// together: whether they do is checked last.
func settle(t *testing.T, args ...string) dpn.Config {
	t.Helper()
	tr := &training{app: &app{}}
	c := tr.command()
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	settings, err := tr.resolve(c.Flags())
	if err != nil {
		t.Logf("%q: %v", args, err)
	}
	return settings
}

// TestTrainFlags gives the flag of every setting a value that no preset has: that setting,
// and no other, has it in the place of the preset's.
func TestTrainFlags(t *testing.T) {
	preset, err := dpn.Preset("clean")
	if err != nil {
		t.Fatal(err)
	}
	base := reflect.ValueOf(preset)
	for i := range base.NumField() {
		name := base.Type().Field(i).Tag.Get("toml")
		if name == "preset" { // chooses the rest
			continue
		}
		want := reflect.New(base.Type()).Elem()
		want.Set(base)
		switch f := want.Field(i); f.Interface().(type) {
		case string:
			f.SetString("another")
		case bool:
			f.SetBool(!f.Bool())
		case int:
			f.SetInt(f.Int() + 17)
		case uint64:
			f.SetUint(f.Uint() + 1<<62)
		case float64:
			f.SetFloat(f.Float() + 0.1) // whose shortest text must give the same bits
		}
		value := fmt.Sprint(want.Field(i))
		if want.Field(i).CanFloat() {
			value = strconv.FormatFloat(want.Field(i).Float(), 'g', -1, 64)
		}
		if got := settle(t, "--preset", "clean", "--"+name+"="+value); got != want.Interface() {
			t.Errorf("--%s %s: %+v", name, value, got)
		}
	}
}

// TestFlagsOverFile checks that flags go over a file, also where they say 0, and leave the
// rest of it.
func TestFlagsOverFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.toml")
	write(t, path, []byte("preset = \"clean\"\nsteps = 7\nlr = 0.25\nclip = 3.0\nlayer-norm = true\n"))
	want, err := dpn.Preset("clean")
	if err != nil {
		t.Fatal(err)
	}
	want.Steps, want.LR, want.Clip, want.LayerNorm = 9, 0.25, 0, false
	if got := settle(t, "--config", path, "--clip", "0", "--steps", "9", "--layer-norm=false"); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
