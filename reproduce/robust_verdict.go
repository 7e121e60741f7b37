package reproduce

import (
	"fmt"
	"strings"

	"dpnbench/dpn/separation"
)

// RobustVerdict compares a DPN with the best baseline of no greater cost in one setting. Figures
// are test accuracies in percent.
type RobustVerdict struct {
	DPN, Rival   string
	Noisy        bool   // training
	Setting      string // of the test images: clean, or a noise
	Ours, Theirs Spread
	Word         string // ahead, level or behind
}

// Words of a RobustVerdict: level means that the ranges over seeds overlap.
const (
	ahead  = "ahead"
	level  = "level"
	behind = "behind"
)

// preposition completes a word before the baseline's name.
var preposition = map[string]string{ahead: "ahead of", level: "level with", behind: "behind"}

// Margin is the difference of the means in percentage points.
func (v RobustVerdict) Margin() float64 { return float64(v.Ours.Mean - v.Theirs.Mean) }

// robustSettings names the kinds of test images: clean, then each noise.
func robustSettings() []string {
	names := []string{"clean"}
	for _, c := range noises {
		names = append(names, c.String())
	}
	return names
}

// score returns the accuracy of a run in percent in a setting, by its index in robustSettings.
func (r RobustRun) score(setting int) float64 {
	if setting == 0 {
		return 100 * r.TestAccuracy
	}
	return 100 * r.Noisy[setting-1].Accuracy
}

// at returns the spread of a network's runs in a setting.
func (n RobustNetwork) at(setting int) Spread {
	return over(n.Runs, func(r RobustRun) float64 { return r.score(setting) })
}

// equalCost are the DPNs that are judged, by noisy training: about a million multiply-adds, like
// the baselines.
var equalCost = map[bool]string{false: "robust-small", true: "noise"}

// Verdicts judges the DPN of each training in every setting.
func (r *Robust) Verdicts() []RobustVerdict {
	var out []RobustVerdict
	for _, noisy := range []bool{false, true} {
		for i, setting := range robustSettings() {
			if v := r.verdict(noisy, i); v != nil {
				v.Setting = setting
				out = append(out, *v)
			}
		}
	}
	return out
}

// verdict judges one setting against the baseline with the highest mean. The DPN is ahead only if
// its worst run is better than the best run of every baseline.
func (r *Robust) verdict(noisy bool, setting int) *RobustVerdict {
	v := &RobustVerdict{DPN: equalCost[noisy], Noisy: noisy, Word: level}
	cost := 0
	for _, n := range r.Networks {
		if n.Noisy == noisy && n.Name == v.DPN {
			v.Ours, cost = n.at(setting), n.MACs
		}
	}
	var best separation.Float // run of any baseline
	for _, n := range r.Networks {
		if n.Noisy != noisy || n.Kind != kindBaseline || n.MACs > cost {
			continue
		}
		s := n.at(setting)
		best = max(best, s.Greatest)
		if v.Rival == "" || s.Mean > v.Theirs.Mean {
			v.Rival, v.Theirs = n.Name, s
		}
	}
	switch {
	case v.Ours.Seeds == 0 || v.Rival == "":
		return nil
	case v.Ours.Least > best:
		v.Word = ahead
	case v.Ours.Greatest < v.Theirs.Least:
		v.Word = behind
	}
	return v
}

// String returns the verdict in one line.
func (v RobustVerdict) String() string {
	return fmt.Sprintf("%s %s, best baseline (%s) %s", v.DPN, spreadText(v.Ours), v.Rival, spreadText(v.Theirs))
}

// spreadText formats mean and range of accuracies in percent.
func spreadText(s Spread) string {
	if s.Least == s.Greatest {
		return fmt.Sprintf("%.2f%%", float64(s.Mean))
	}
	return fmt.Sprintf("%.2f%% (%.2f to %.2f)", float64(s.Mean), float64(s.Least), float64(s.Greatest))
}

// outperforms judges the claim of outperforming in the given settings of a training.
func outperforms(noisy bool, settings ...int) func(Results) judged {
	return func(r Results) judged {
		if r.Robust == nil {
			return judged{}
		}
		var text []string
		var means []float64
		words := map[string]int{}
		var last RobustVerdict
		for _, i := range settings {
			v := r.Robust.verdict(noisy, i)
			if v == nil {
				return judged{}
			}
			words[v.Word]++
			last = *v
			prefix := ""
			if len(settings) > 1 {
				prefix = robustSettings()[i] + ": "
			}
			text = append(text, prefix+v.String())
			means = append(means, numbers(v.Ours.Mean, v.Theirs.Mean)...)
		}
		j := judged{measured: strings.Join(text, "; "), numbers: means, verdict: NotReproduced}
		if len(settings) == 1 {
			j.ci = rangeOf(last.Ours)
		}
		switch all := len(settings); {
		case words[ahead] == all:
			j.verdict, j.why = Reproduced,
				"Its worst seed is better than the best of every baseline of no greater cost."
		case all > 1:
			j.why = fmt.Sprintf("Ahead of all baselines of no greater cost in %d, level in %d, behind in %d of %d "+
				"settings.", words[ahead], words[level], words[behind], all)
		case words[behind] == all:
			j.why = fmt.Sprintf("The %s is better at no greater cost.", last.Rival)
		default:
			j.why = "Not every seed is ahead of every run of the baselines."
		}
		return j
	}
}
