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
	fmt.Println(d.AUROC, d.FPR, d.Threshold)

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
	// 0.90625 0.25 2
	// accuracy 0.75, confidence 0.982, ECE 0.232, best temperature 3.641
}
