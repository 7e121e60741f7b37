package uncertainty_test

import (
	"fmt"
	"log"

	"dpnbench/dpn/uncertainty"
)

// The scores of known and unknown images are compared, then the confidence of four predictions,
// three of them right, with their accuracy.
func Example() {
	d, err := uncertainty.Detect([]float64{5, 4, 3, 2}, []float64{3, 1, 0, -1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("AUROC %.3f, %.0f%% of the unknown accepted at a threshold of %v\n", d.AUROC, 100*d.FPR, d.Threshold)

	sure := uncertainty.Logits{X: []float32{0, 4, 4, 0, 0, 4, 0, 4}, Classes: 2, Labels: []uint16{1, 0, 1, 0}}
	c, err := uncertainty.Calibrate(sure, 1)
	if err != nil {
		log.Fatal(err)
	}
	t, err := uncertainty.FitTemperature(sure)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("accuracy %.2f, confidence %.3f, ECE %.3f, best temperature %.3f\n", c.Accuracy, c.Confidence,
		c.ECE, t.T)
	// Output:
	// AUROC 0.906, 25% of the unknown accepted at a threshold of 2
	// accuracy 0.75, confidence 0.982, ECE 0.232, best temperature 3.641
}
