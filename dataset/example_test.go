package dataset_test

import (
	"fmt"
	"slices"
	"strings"

	"dpnbench/dataset"
)

// Two classes of measurements.
func Example() {
	values, labels := []float32{1, 5, 1, 6, 3, 8, 3, 9}, []uint16{0, 0, 1, 1}
	train := &dataset.Set{Shape: dataset.Vector(2), Values: values, Labels: labels}
	data, err := dataset.New("mine", train, nil, []string{"low", "high"})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := slices.Clone(data.Train.Vector(3)) // as a network sees it
	data.Norm.Apply(x)
	fmt.Println(data.Shape(), data.Classes[data.Train.Labels[3]], data.Norm.Mean, x[0])
	// Output: 2 features high [2 7] 1
}

// Any range of the digits can be drawn by itself.
func ExampleDigits() {
	s := dataset.Digits(1, 1_000_000, 1)
	fmt.Println("label", s.Labels[0])
	for y := 3; y < 25; y++ {
		var line strings.Builder
		for _, v := range s.Image(0)[y*s.Cols : (y+1)*s.Cols] {
			line.WriteByte(" .+#"[v/64])
		}
		fmt.Println(strings.TrimRight(line.String(), " "))
	}
	// Output:
	// label 3
	//
	//              ....
	//           .+######+
	//          ###+. .+##+
	//          #+       ##
	//                   #+
	//                  .#.
	//                  ##
	//                 +#.
	//                ##+
	//            .+###+
	//            +####.
	//              .+##
	//                +#.
	//                .#.
	//                +#.
	//               .##
	//              .##.
	//     .       +##.
	//    +##+   +###
	//    .+#######+
	//       +##+.
}

func ExampleNormalization_Table() {
	table := dataset.MNISTNorm.Table(0)
	fmt.Printf("background %.4f, ink %.4f\n", table[0], table[255])
	// Output:
	// background -0.4242, ink 2.8215
}

// Corrupt the first and the third of three digits.
func ExampleCorruption_Floats() {
	c, err := dataset.ParseCorruption("inverted:1")
	if err != nil {
		fmt.Println(err)
		return
	}
	s := dataset.Digits(1, 0, 3)
	x := make([]float32, 2*s.Shape.Len())
	if err := c.Floats(x, s, []int32{0, 2}, 1); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the corner is", x[0])

	_, err = dataset.ParseCorruption("saltpepper:30")
	fmt.Println(err)
	// Output:
	// the corner is 1
	// corruption saltpepper:30: expected a severity of 0 to 1 (fraction of the pixels)
}
