package reproduce

import (
	"context"
	"math"
	"slices"

	"dpnbench/dataset"
	"dpnbench/dpn/separation"
	"dpnbench/dpn/study"
	"dpnbench/engine"
	"dpnbench/internal/stat"
)

// Nearness is how the potential along the ascent goes with the distance to the nearest centre.
type Nearness struct {
	Images int `json:"images"`
	Steps  int `json:"steps"`
	// Spearman is the rank correlation over all images and steps, and Weakest that of the step where it is
	// nearest to 0, over the images.
	Spearman separation.Float `json:"spearman"`
	Weakest  separation.Float `json:"weakest"`
}

// nearnessImages is the number of images whose potential is compared with distances.
const nearnessImages = 1000

func (w *fieldWork) nearness(ctx context.Context) (f Field, err error) {
	n := min(nearnessImages, w.x.Rows)
	x := engine.NewMatrix(n, w.x.Cols)
	copy(x.Data, w.x.Data[:n*w.x.Cols])
	centres := w.m.Potential().Centres()
	out := &Nearness{Images: n, Steps: w.m.Config.Steps, Weakest: -1}
	var allPhi, allDistance []float64
	distances := engine.NewMatrix(n, centres.Rows)
	err = w.m.Potential().Walk(ctx, w.e, w.m.Potential().Alpha(), out.Steps, x,
		func(_ int, at engine.Matrix, phi []float32, _ engine.Matrix) {
			w.e.SquaredDistances(distances, at, centres)
			var p, d []float64
			for i, v := range phi {
				p = append(p, float64(v))
				d = append(d, math.Sqrt(max(0, float64(slices.Min(distances.Row(i))))))
			}
			out.Weakest = max(out.Weakest, separation.Float(stat.Spearman(p, d)))
			allPhi, allDistance = append(allPhi, p...), append(allDistance, d...)
		})
	out.Spearman = separation.Float(stat.Spearman(allPhi, allDistance))
	return Field{Nearness: out}, err
}

// NoiseGain is what the 30 steps make of corrupted test images.
type NoiseGain struct {
	Corruption string     `json:"corruption"` // or clean
	Gain       study.Gain `json:"gain"`       // of the signal-to-noise ratio
	// After is the mean signal-to-noise ratio of x_n, in dB, also where x_0 has no noise.
	After separation.Float `json:"snr_after_db"`
	// OnePass is the mean gain over one step of alpha' = 1 - (1 - alpha)^n, which is as long as the n steps
	// towards a single centre, and CI its 95% interval.
	OnePass separation.Float   `json:"over_one_pass_db"`
	CI      []separation.Float `json:"over_one_pass_ci"`

	// Mean grey level of pixels with ink (above 0.5 in the clean image), and the root mean square of pixels
	// without (0 in the clean image), in x_0 and in x_n.
	Ink        [2]float64 `json:"ink"`
	Background [2]float64 `json:"background"`
}

const cleanImages = "clean"

func (w *fieldWork) noise(ctx context.Context) (Field, error) {
	var f Field
	list := append([]dataset.Corruption{{Name: noises[0].Name}}, noises...)
	for _, c := range list {
		g, err := w.gain(ctx, c)
		if err != nil {
			return f, err
		}
		f.Noise = append(f.Noise, *g)
	}
	return f, nil
}

// gain measures one corruption; severity 0: none.
func (w *fieldWork) gain(ctx context.Context, c dataset.Corruption) (*NoiseGain, error) {
	many, err := study.Denoise(ctx, w.e, w.m, w.s, c, corruptSeed)
	if err != nil {
		return nil, err
	}
	p, steps := w.m.Potential(), w.m.Config.Steps
	alpha := p.Alpha()
	p.SetAlpha(float32(1 - math.Pow(1-float64(alpha), float64(steps))))
	w.m.Config.Steps = 1
	one, err := study.Denoise(ctx, w.e, w.m, w.s, c, corruptSeed)
	p.SetAlpha(alpha)
	w.m.Config.Steps = steps
	if err != nil {
		return nil, err
	}
	g := &NoiseGain{Corruption: c.String(), Gain: many.Gain()}
	if c.Severity == 0 {
		g.Corruption = cleanImages
	}
	var after, ahead []float64
	for i, v := range many.After {
		if v.IsFinite() && one.After[i].IsFinite() {
			after, ahead = append(after, float64(v)), append(ahead, float64(v-one.After[i]))
		}
	}
	s := spread(ahead)
	half := stat.Normal95 * s.Std / separation.Float(math.Sqrt(float64(s.Seeds)))
	g.After, g.OnePass, g.CI = spread(after).Mean, s.Mean, []separation.Float{s.Mean - half, s.Mean + half}
	g.levels(w.s, many)
	return g, nil
}

// levels sets Ink and Background.
func (g *NoiseGain) levels(s *dataset.Set, d *study.Denoised) {
	clean := make([]float32, s.Shape.Len())
	var ink, background [2]float64
	inks, empty := 0, 0
	for i := range s.Len() {
		s.Floats(clean, []int32{int32(i)})
		for j, v := range clean {
			at := [2]float64{float64(d.Corrupted.At(i, j)), float64(d.Restored.At(i, j))}
			for k, u := range at {
				switch {
				case v > 0.5:
					ink[k] += u
				case v == 0:
					background[k] += float64(u * u)
				}
			}
			switch {
			case v > 0.5:
				inks++
			case v == 0:
				empty++
			}
		}
	}
	for k := range ink {
		g.Ink[k] = ink[k] / float64(max(inks, 1))
		g.Background[k] = math.Sqrt(background[k] / float64(max(empty, 1)))
	}
}

// LogSumExp is what the log-sum-exp of the potential saves, at test images.
type LogSumExp struct {
	Images    int `json:"images"`
	Underflow int `json:"underflow"` // images whose plain float32 sum of exponentials is 0
	Overflow  int `json:"overflow"`  // or infinite
	Lost      int `json:"lost"`      // whose potential as computed here is not finite

	// FreeEnergy is the largest relative difference of phi from sum_i r_i l_i + H(r), with l_i in float64.
	FreeEnergy float64 `json:"free_energy_error"`
	// LeastR and GreatestR bound the responsibilities, the derivatives of phi by c_i.
	LeastR    float64 `json:"least_r"`
	GreatestR float64 `json:"greatest_r"`
}

func (w *fieldWork) logSumExp(ctx context.Context) (Field, error) {
	p := w.m.Potential()
	k, centres := p.K, p.Centres()
	out := &LogSumExp{Images: w.x.Rows, LeastR: math.Inf(1)}
	phi, r := make([]float32, w.x.Rows), engine.NewMatrix(k, w.x.Rows)
	p.Evaluate(w.e, w.x, phi, r)
	distances := engine.NewMatrix(w.x.Rows, k)
	w.e.SquaredDistances(distances, w.x, centres) // q_i: the precisions are the identity
	l := make([]float64, k)
	for b := range w.x.Rows {
		var sum float32
		for i := range k {
			l[i] = float64(p.LogWeights()[i]) - float64(distances.At(b, i))/2
			sum += float32(math.Exp(l[i]))
			v := float64(r.At(i, b))
			out.LeastR, out.GreatestR = min(out.LeastR, v), max(out.GreatestR, v)
		}
		switch {
		case sum == 0:
			out.Underflow++
		case math.IsInf(float64(sum), 1):
			out.Overflow++
		}
		got := float64(phi[b])
		if !separation.Float(got).IsFinite() {
			out.Lost++
			continue
		}
		top := slices.Max(l)
		var all, energy, entropy float64
		for _, v := range l {
			all += math.Exp(v - top)
		}
		for _, v := range l {
			share := math.Exp(v-top) / all
			energy += float64(share * v)
			if share > 0 {
				entropy -= float64(share * math.Log(share))
			}
		}
		out.FreeEnergy = max(out.FreeEnergy, math.Abs(energy+entropy-got)/max(1, math.Abs(got)))
	}
	return Field{LogSumExp: out}, ctx.Err()
}

// StepSize is how many steps of other sizes take images to a standstill.
type StepSize struct {
	Images int     `json:"images"`
	Alphas []Alpha `json:"alphas"`
}

// Alpha is the result of one step size.
type Alpha struct {
	Alpha     float64 `json:"alpha"`
	Median    int     `json:"steps_median"` // of the images that converge
	Converged float64 `json:"converged"`    // share
}

func (w *fieldWork) stepSize(ctx context.Context) (Field, error) {
	s := w.s.Slice(0, min(nearnessImages, w.s.Len()))
	out := &StepSize{Images: s.Len()}
	p := w.m.Potential()
	first := p.Alpha()
	defer p.SetAlpha(first)
	for _, alpha := range []float32{first, 1} {
		p.SetAlpha(alpha)
		f, err := study.FindFixedPoints(ctx, w.e, w.m, s, study.FixedPointOptions{})
		if err != nil {
			return Field{}, err
		}
		out.Alphas = append(out.Alphas, Alpha{float64(alpha), f.StepsMedian, f.ShareConverged})
	}
	return Field{StepSize: out}, nil
}

// neighbours is how many nearest neighbours are followed.
const neighbours = 10

// within sets what is known of the ends of the ascents: neighbours kept, and the points that classes go to.
func (f *Field) within(ctx context.Context, w *fieldWork, start []int32) error {
	p := f.FixedPoints
	k := min(neighbours, w.s.Len()-1)
	x := engine.NewMatrix(w.x.Rows, w.x.Cols)
	copy(x.Data, w.x.Data)
	if err := w.m.Potential().AscendUntil(ctx, w.e, x, paperSteps); err != nil {
		return err
	}
	var err error
	if f.Kept30, err = study.KeptNeighbours(ctx, w.e, w.x, x, k); err != nil {
		return err
	}
	f.Nearest30 = share(start, w.nearestCentres(x))
	f.PointsOfClass = pointsOfClasses(p.Assignment, w.s.Labels, len(w.m.Classes))
	if f.StartPurity, err = purity(start, w.s.Labels, w.m.Potential().K); err != nil {
		return err
	}
	f.LargestClass, err = purity(make([]int32, w.s.Len()), w.s.Labels, 1)
	return err
}

// nearestCentres returns the nearest centre of each row of x.
func (w *fieldWork) nearestCentres(x engine.Matrix) []int32 {
	centres := w.m.Potential().Centres()
	distances, out := engine.NewMatrix(x.Rows, centres.Rows), make([]int32, x.Rows)
	w.e.SquaredDistances(distances, x, centres)
	w.e.ArgMin(out, distances)
	return out
}

// share returns the share of equal elements.
func share(a, b []int32) float64 {
	same := 0
	for i, v := range a {
		if v == b[i] {
			same++
		}
	}
	return float64(same) / float64(max(len(a), 1))
}

// purity returns the share of the rows with the most frequent label of their group.
func purity(groups []int32, labels []uint16, k int) (float64, error) {
	major, err := study.MajorityLabels(groups, labels, k)
	if err != nil {
		return 0, err
	}
	right := 0
	for i, g := range groups {
		if major[g] == labels[i] {
			right++
		}
	}
	return float64(right) / float64(max(len(groups), 1)), nil
}

// pointsOfClasses returns, over the classes, the least and the greatest number of end points that hold 90% of the
// images of a class that converge (-1: not converged).
func pointsOfClasses(assignment []int32, labels []uint16, classes int) []int {
	counts := make([]map[int32]int, classes)
	all := make([]int, classes)
	for i, a := range assignment {
		if c := labels[i]; a >= 0 {
			if counts[c] == nil {
				counts[c] = map[int32]int{}
			}
			counts[c][a]++
			all[c]++
		}
	}
	var points []int
	for c, list := range counts {
		var sizes []int
		for _, n := range list {
			sizes = append(sizes, n)
		}
		slices.Sort(sizes)
		slices.Reverse(sizes)
		held, n := 0, 0
		for n < len(sizes) && 10*held < 9*all[c] {
			held += sizes[n]
			n++
		}
		if n > 0 {
			points = append(points, n)
		}
	}
	if len(points) == 0 {
		return nil
	}
	return []int{slices.Min(points), slices.Max(points)}
}
