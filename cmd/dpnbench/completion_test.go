package main

import (
	"errors"
	"strings"
	"testing"

	"dpnbench/dpn"
	"dpnbench/internal/longtest"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestCompletion asks what a shell completes.
func TestCompletion(t *testing.T) {
	longtest.Native(t)
	for _, c := range []struct{ args, typed, want string }{
		{"train --preset", "robust", "robust robust-small :4"},
		{"reproduce trained --presets", "raw,cl", "raw,clean :6"},
		{"train --data", "", "digits mnist fashion-mnist :0"},
		{"uncertainty --ood-data", "f", "fashion-mnist :0"},
		{"check --kernel", "matmul-", "matmul-packed matmul-at matmul-nonzero :4"},
		{"bench --suite", "gemm,asc", "gemm,ascent gemm,ascent-sparse :6"},
		{"eval --suite", "", "robustness mnist-c :4"},
		{"eval --corrupt", "gaussian:0.3,mnistc-br", "gaussian:0.3,mnistc-brightness :6"},
		{"denoise --corrupt", "salt", "saltpepper: :6"},
		{"info --tier", "gen", "generic :4"},
		{"data fetch", "f", "fashion-mnist :4"},
		{"data info", "", "digits mnist fashion-mnist :0"},
		{"data convert", "mn", "mnist :0"},
		{"train --extractor", "c", "conv conv3 :4"},
		{"train --gradient", "", "exact detached :4"},
		{"export --format", "o", "onnx :4"},
		{"train --route", "", "auto dense sparse :4"},
		{"data info --channels", "", "grey rgb :4"},
		{"sample --method", "", "exact mala ula :4"},
		{"help", "prese", "presets The presets of train and their settings :4"},
		{"help data", "f", "fetch Download MNIST or Fashion-MNIST :4"},
		{"eval --model", "", "safetensors :8"},
	} {
		out, _, _ := dpnbench(t, append(append([]string{"__complete"}, strings.Fields(c.args)...), c.typed)...)
		if got := strings.Join(strings.Fields(out), " "); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.args, c.typed, got, c.want)
		}
	}
	if script := succeed(t, "completion", "bash"); !strings.Contains(script, "bash completion") {
		t.Errorf("completion bash printed %q", script)
	}
}

// TestChoices gives train every value that a shell completes for a setting: each is one, and there are no others. Every
// choice belongs to a flag.
func TestChoices(t *testing.T) {
	used := map[string]bool{}
	everyCommand(func(c *cobra.Command, _ []string) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			used[f.Name], used[c.Name()+" "+f.Name] = true, true
		})
	})
	for key := range choices {
		if !used[key] {
			t.Errorf("no flag for the choices %q", key)
		}
	}
	for key := range endings {
		if !used[key] {
			t.Errorf("no flag for the endings %q", key)
		}
	}
	var c dpn.Config
	settingFlags(&c).VisitAll(func(f *pflag.Flag) {
		if choices[f.Name] == nil || strings.HasSuffix(f.Name, "data") {
			return
		}
		problem := func(v string) string {
			var err error
			if c, err = dpn.Preset("compact"); err != nil {
				t.Fatal(err)
			}
			if err := f.Value.Set(v); err != nil {
				t.Fatal(err)
			}
			var wrong *dpn.SettingError
			if err := c.Validate(); errors.As(err, &wrong) && wrong.Setting == f.Name {
				return wrong.Problem
			}
			return ""
		}
		for _, v := range choices[f.Name]() {
			if p := problem(v); p != "" {
				t.Errorf("--%s %s: %s", f.Name, v, p)
			}
		}
		if p := problem("?"); p != "expected one of "+strings.Join(choices[f.Name](), ", ") {
			t.Errorf("--%s completes %q: %s", f.Name, choices[f.Name](), p)
		}
	})
}
