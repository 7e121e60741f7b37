package reproduce

import (
	"fmt"
	"math"
	"strings"

	"dpnbench/dpn/separation"

	"gonum.org/v1/gonum/stat/distuv"
)

// RobustVerdict compares a DPN with the best baseline of no greater cost in one setting. Figures
// are test accuracies in percent.
type RobustVerdict struct {
	DPN, Rival   string
	Noisy        bool   // training
	Setting      string // of the test images: clean, or a noise
	Ours, Theirs Spread
	Word         string // ahead, level, behind or not judged
}

// Words of a RobustVerdict: level means that the interval of a difference encloses 0, not judged that there is none,
// because a network has a single seed.
const (
	ahead     = "ahead"
	level     = "level"
	behind    = "behind"
	notJudged = "not judged"
)

// preposition completes a word before the baseline's name.
var preposition = map[string]string{ahead: "ahead of", level: "level with", behind: "behind",
	notJudged: "not judged against"}

// Margin is the difference of the means.
func (v RobustVerdict) Margin() Gap { return gap(v.Ours, v.Theirs) }

// Gap is a difference of two means over seeds in percentage points. Low and High bound its 95% interval for more
// seeds; with one seed they are infinite.
type Gap struct{ Mean, Low, High float64 }

// gap returns a - b with Welch's interval (Biometrika 34, 1947), which lets both networks have a spread of their own.
func gap(a, b Spread) Gap {
	d := float64(a.Mean - b.Mean)
	if a.Seeds < 2 || b.Seeds < 2 {
		return Gap{d, math.Inf(-1), math.Inf(1)}
	}
	share := func(s Spread) (variance, squares float64) { // of the mean
		variance = float64(s.Std*s.Std) / float64(s.Seeds)
		return variance, float64(variance*variance) / float64(s.Seeds-1)
	}
	va, sa := share(a)
	vb, sb := share(b)
	if sa+sb == 0 { // the same figure from every seed
		return Gap{d, d, d}
	}
	freedom := float64((va+vb)*(va+vb)) / (sa + sb)
	half := float64(distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(1-significance/2) * math.Sqrt(va+vb))
	return Gap{d, d - half, d + half}
}

// String formats the difference and its interval.
func (g Gap) String() string {
	if math.IsInf(g.High, 1) {
		return fmt.Sprintf("%+.2f", g.Mean)
	}
	return fmt.Sprintf("%+.2f (%+.2f to %+.2f)", g.Mean, g.Low, g.High)
}

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
// the interval of its difference to every baseline lies above 0.
func (r *Robust) verdict(noisy bool, setting int) *RobustVerdict {
	v := &RobustVerdict{DPN: equalCost[noisy], Noisy: noisy, Word: level}
	dpn := r.judged(noisy)
	if dpn == nil {
		return nil
	}
	v.Ours = dpn.at(setting)
	least := math.Inf(1) // low end of a difference
	for _, n := range r.rivals(dpn) {
		s := n.at(setting)
		least = min(least, gap(v.Ours, s).Low)
		if v.Rival == "" || s.Mean > v.Theirs.Mean {
			v.Rival, v.Theirs = n.Name, s
		}
	}
	switch {
	case v.Ours.Seeds == 0 || v.Rival == "":
		return nil
	case math.IsInf(least, -1):
		v.Word = notJudged
	case least > 0:
		v.Word = ahead
	case v.Margin().High < 0:
		v.Word = behind
	}
	return v
}

// judged returns the DPN that is judged, or nil.
func (r *Robust) judged(noisy bool) *RobustNetwork {
	for i, n := range r.Networks {
		if n.Noisy == noisy && n.Name == equalCost[noisy] {
			return &r.Networks[i]
		}
	}
	return nil
}

// rivals lists the baselines of no greater cost than a DPN that saw the same images.
func (r *Robust) rivals(dpn *RobustNetwork) (list []RobustNetwork) {
	for _, n := range r.Networks {
		if n.Noisy == dpn.Noisy && n.Kind == kindBaseline && n.MACs <= dpn.MACs {
			list = append(list, n)
		}
	}
	return list
}

// String returns the verdict in one line.
func (v RobustVerdict) String() string {
	return fmt.Sprintf("%s %s, best baseline (%s) %s, difference %s points", v.DPN, spreadText(v.Ours), v.Rival,
		spreadText(v.Theirs), v.Margin())
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
			if m := last.Margin(); !math.IsInf(m.High, 1) {
				j.ci = []separation.Float{separation.Float(m.Low), separation.Float(m.High)}
			}
		}
		switch all := len(settings); {
		case words[notJudged] > 0:
			j.verdict, j.why = "", "A single seed has no interval: train with two or more."
		case words[ahead] == all:
			j.verdict, j.why = Reproduced,
				"The 95% interval of its difference to every baseline of no greater cost lies above 0."
		case all > 1:
			j.why = fmt.Sprintf("Ahead of all baselines of no greater cost in %d, level in %d, behind in %d of %d "+
				"settings.", words[ahead], words[level], words[behind], all)
		case words[behind] == all:
			j.why = fmt.Sprintf("The %s is better at no greater cost.", last.Rival)
		default:
			j.why = "A difference to a baseline of no greater cost is within the spread of the seeds."
		}
		return j
	}
}
