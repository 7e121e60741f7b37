//go:build unix

package main

import (
	"bytes"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpnbench/dpn"
	"dpnbench/internal/output"
	"dpnbench/internal/testprocess"
)

// conflictCase is a command of TestConflicts.
type conflictCase struct {
	args   []string
	inputs []string // files that the command reads
	out    string   // folder of --out
	own    []string // files that it writes there
	same   string   // that of them which --json may name
}

// conflictCases lists all commands that write. data are the images, run is a finished training.
func conflictCases(data, run, dir string) []conflictCase {
	model := filepath.Join(run, dpn.ModelFile)
	images := []string{filepath.Join(data, "train-images-idx3-ubyte.gz"),
		filepath.Join(data, "train-labels-idx1-ubyte"),
		filepath.Join(data, "t10k-images-idx3-ubyte.gz"), filepath.Join(data, "t10k-labels-idx1-ubyte")}
	read := append([]string{model}, images...)
	out := filepath.Join(dir, "results")
	config := filepath.Join(dir, "some.toml")
	report := filepath.Join(dir, "report.json")
	features, labels := filepath.Join(dir, "x.npy"), filepath.Join(dir, "y.npy")
	use := func(name string) []string { return []string{name, "--model", model, "--out", out} }
	return []conflictCase{
		{args: []string{"info"}},
		{args: []string{"check", "--kernel", "dot"}},
		{args: []string{"bench", "--quick", "--suite", "gemm", "--filter", "gemm/packed/m=128"}},
		{args: []string{"bench", "compare", report, report}, inputs: []string{report}},
		{args: []string{"train", "--data", data, "--config", config, "--out", out}, inputs: append(images, config),
			out: out, own: runFiles, same: resultFile},
		{args: []string{"train", "--resume", "--out", run}, inputs: images, out: run, own: runFiles, same: resultFile},
		{args: with(append([]string{"train"}, small...), "--data", data, "--overwrite", "--out", run), inputs: images,
			out: run, own: runFiles, same: resultFile},
		{args: []string{"eval", "--model", model}, inputs: read},
		{args: []string{"predict", "--model", model, "--out", filepath.Join(dir, "p.csv")}, inputs: read},
		{args: use("analyze"), inputs: read, out: out, own: analysisFiles(), same: numbersFile},
		{args: use("uncertainty"), inputs: read, out: out, own: uncertaintyFiles(), same: uncertaintyFile},
		{args: use("sample"), inputs: read, out: out, same: "samples.json",
			own: append(figureFiles("samples"), "samples.npy", "samples.json")},
		{args: []string{"denoise", "--model", filepath.Join(dir, "pixels", dpn.ModelFile), "--corrupt", "gaussian:0.5",
			"--out", out}, inputs: append(images, filepath.Join(dir, "pixels", dpn.ModelFile)), out: out,
			own: append(figureFiles("gaussian-0.5"), "gaussian-0.5.npy", denoiseFile), same: denoiseFile},
		{args: use("export"), inputs: read[:1], out: out, own: []string{"dpn.py", dpn.ModelFile}},
		{args: []string{"export", "--format", "onnx", "--model", model, "--out", filepath.Join(dir, "x.onnx")},
			inputs: read[:1]},
		{args: []string{"import", model, "--out", filepath.Join(dir, "x.safetensors")}, inputs: read[:1]},
		{args: []string{"reproduce", "table1", "--data", data, "--out", out}, inputs: images, out: out,
			own: append(figureFiles("table1-steps"), resultsFile, pageFile, "parts/settings.json",
				"parts/table1-seed-1.json"),
			same: resultsFile},
		{args: []string{"separation", "--features", features, "--labels", labels, "--out", out},
			inputs: []string{features, labels}, out: out, own: separationFiles(), same: separationFile},
		{args: []string{"demo", "--out", out}, out: out, same: demoFile,
			own: append([]string{demoFile, "analysis/" + pageFile, "analysis/" + numbersFile}, runFiles...)},
		{args: []string{"data", "fetch", "mnist", "--out", out}, out: out,
			own: []string{"train-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz.part"}},
	}
}

// TestConflicts gives every command that writes an output that is one of its inputs or of its other
// files, under every kind of name, or that cannot be written. Each is refused at once with one
// line that names the flag and the file, and nothing changes.
func TestConflicts(t *testing.T) {
	long(t)
	dir := t.TempDir()
	data, run := filepath.Join(dir, "data"), filepath.Join(dir, "run")
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	idx(t, data, 120)
	succeed(t, with(append([]string{"train"}, small...), "--data", data, "--out", run, "--quiet")...)
	succeed(t, "train", "--preset", "raw", "--components", "10", "--steps", "2", "--epochs", "1", "--data", data,
		"--out", filepath.Join(dir, "pixels"), "--quiet")
	write(t, filepath.Join(dir, "some.toml"), []byte("epochs = 2\n"))
	write(t, filepath.Join(dir, "report.json"), []byte("{}"))
	write(t, filepath.Join(dir, "x.npy"), []byte("features"))
	write(t, filepath.Join(dir, "y.npy"), []byte("labels"))
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	before, refused := tree(t, dir), 0
	refuse := func(c conflictCase, path string, more ...string) {
		t.Helper()
		refused++
		fails(t, with(c.args, append([]string{"--json", path}, more...)...), "--", path)
	}
	for _, c := range conflictCases(data, run, dir) {
		targets := c.inputs
		for _, name := range c.own {
			if name != c.same {
				targets = append(targets, filepath.Join(c.out, name))
			}
		}
		for i, path := range targets {
			refuse(c, path)
			spelled := filepath.Join(dir, "sub") + "/../" + strings.TrimPrefix(path, dir+"/")
			refuse(c, spelled)
			if i > 5 { // the rest are of the same kind
				continue
			}
			link := filepath.Join(dir, "sub", "link")
			for _, make := range []func(from, to string) error{os.Symlink, os.Link} {
				if err := make(path, link); err != nil {
					continue // no hard link to what does not exist
				}
				refuse(c, link)
				os.Remove(link)
			}
		}
		for _, path := range []string{dir, filepath.Join(dir, "none", "x.json"), filepath.Join(dir, "new") + "/",
			filepath.Join(dir, "some.toml", "x"), filepath.Join(dir, strings.Repeat("x", 300))} {
			refuse(c, path)
		}
		none := filepath.Join(dir, "none")
		missing := filepath.Join(none, "x.json") + ": folder " + none + " does not exist"
		fails(t, with(c.args, "--json", filepath.Join(none, "x.json")), "--json "+missing)
		if c.out == "" && slices.Contains(c.args, "--out") {
			fails(t, with(c.args, "--out", filepath.Join(none, "x.json")), "--out "+missing)
		}
		if c.out != "" {
			refuse(c, filepath.Join(dir, "report.json"), "--out", filepath.Join(dir, "report.json"))
		}
	}
	for _, flag := range []string{"--html", "--go-bench"} {
		new := filepath.Join(dir, "new")
		for _, path := range []string{new, dir + "/sub/../new"} {
			refused++
			fails(t, []string{"bench", "--quick", "--json", new, flag, path}, flag+" "+path, "--json")
		}
	}
	if after := tree(t, dir); !maps.Equal(after, before) {
		for path := range after {
			if before[path] != after[path] {
				t.Errorf("%s has changed, or is new", path)
			}
		}
		t.Errorf("%d files, want %d", len(after), len(before))
	}
	t.Logf("%d refused", refused)
}

// TestStandardOutput names the file that standard output goes to.
func TestStandardOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if status := run(t.Context(), []string{"info", "--json", path}, f, f); status != exitUsage {
		t.Errorf("status %d, want %d", status, exitUsage)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "dpnbench: --json "+path+
		": is also standard output; expected another file\n" {
		t.Errorf("printed %q (%v)", b, err)
	}
}

// process returns a process of its own that runs a command line, as TestUnread does.
func process(t *testing.T, args []string) *exec.Cmd {
	t.Helper()
	return testprocess.New(t, "TestUnread", "DPNBENCH_TEST_ARGS="+strings.Join(args, "\n"))
}

// begin starts a command and waits until its main function is called: on a busy machine that takes longer than any
// delay before a signal, which would end the process that does not heed it yet.
func begin(t *testing.T, c *exec.Cmd) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c.ExtraFiles, c.Env = []*os.File{w}, append(c.Env, "DPNBENCH_TEST_BEGIN=1")
	err = c.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, r) // until the last copy of w is closed
}

// TestUnread runs commands whose standard output nobody reads, in a process of their own: the files
// are written all the same.
func TestUnread(t *testing.T) {
	if args := os.Getenv("DPNBENCH_TEST_ARGS"); args != "" { // the process of the command
		if n, err := strconv.Atoi(os.Getenv("DPNBENCH_TEST_RENAMES")); err == nil { // after so many it is killed
			output.BeforeRename(func() {
				if n--; n < 0 {
					self, _ := os.FindProcess(os.Getpid())
					self.Kill()
					select {}
				}
			})
		}
		os.Args = append([]string{"dpnbench"}, strings.Split(args, "\n")...)
		if os.Getenv("DPNBENCH_TEST_BEGIN") != "" {
			os.NewFile(3, "begin").Close()
		}
		main()
	}
	long(t)
	data, out := t.TempDir(), t.TempDir()
	idx(t, data, 120)
	model := filepath.Join(out, dpn.ModelFile)
	for _, c := range []struct {
		args []string
		file string
	}{
		{with(append([]string{"train"}, small...), "--data", data, "--out", out), filepath.Join(out, resultFile)},
		{[]string{"eval", "--model", model, "--json", filepath.Join(out, "eval.json")},
			filepath.Join(out, "eval.json")},
		{[]string{"predict", "--model", model, "--json", filepath.Join(out, "predict.json")},
			filepath.Join(out, "predict.json")},
		{[]string{"predict", "--model", model}, ""},
		{[]string{"sample", "--model", model}, filepath.Join(out, "samples", "samples.json")},
		{[]string{"reproduce", "poster", "--data", data, "--seeds", "1", "--epochs", "1", "--out", out},
			filepath.Join(out, resultsFile)},
		{[]string{"info", "--json", "-"}, ""},
	} {
		command := process(t, c.args)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		command.Stdout = w
		err = command.Run()
		w.Close()
		if got := command.ProcessState.ExitCode(); got != exitUnread {
			t.Errorf("%s: status %d, want %d (%v)", c.args[0], got, exitUnread, err)
		}
		if _, err := os.Stat(c.file); c.file != "" && err != nil {
			t.Errorf("%s: %v", c.args[0], err)
		}
	}
}

// TestKeepsTraining checks that no other command replaces a file of a training.
func TestKeepsTraining(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, seed := range []string{"1", "2"} {
		if _, errs, status := dpnbench(t, "train", "--preset", "linear", "--train-size", "100", "--test-size", "20",
			"--max-updates", "3", "--seed", seed, "--quiet", "--out", "run"+seed); status != exitDone {
			t.Fatal(errs)
		}
	}
	model := filepath.Join("run1", dpn.ModelFile)
	before, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join("run2", dpn.ModelFile)
	for _, args := range [][]string{
		{"export", "--format", "pytorch", "--model", other, "--out", "run1"},
		{"export", "--format", "npz", "--model", other, "--out", model},
		{"import", other, "--out", model},
		{"eval", "--model", other, "--json", model},
		{"predict", "--model", other, "--out", filepath.Join("run1", "train.json")},
	} {
		fails(t, args, "of a training; expected another")
	}
	if err := os.MkdirAll("links", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("..", model), filepath.Join("links", dpn.ModelFile)); err != nil {
		t.Fatal(err)
	}
	fails(t, []string{"export", "--format", "pytorch", "--model", other, "--out", "links"},
		"of a training; expected another")
	if after, err := os.ReadFile(model); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the model was replaced (%v)", err)
	}
	succeed(t, "export", "--format", "pytorch", "--model", other, "--out", "new")
	succeed(t, "export", "--format", "pytorch", "--model", model, "--out", "new") // that of another export
	_, errs, status := dpnbench(t, "train", "--resume", "--out", "run1", "--json", filepath.Join("run1", resultFile))
	if status != exitDone {
		t.Error(errs)
	}
}
