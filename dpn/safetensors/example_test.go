package safetensors_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"dpnbench/dpn/safetensors"
)

// Write a matrix and read it.
func Example() {
	dir, err := os.MkdirTemp("", "tensors")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path, w := filepath.Join(dir, "weights.safetensors"), []float32{1, 2, 3, 4, 5, 6}
	f := &safetensors.File{Tensors: []safetensors.Tensor{{Name: "weight", Shape: []int{2, 3}, Data: w}}}
	err = safetensors.WriteFile(path, f)
	if err != nil {
		log.Fatal(err)
	}
	f, err = safetensors.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Tensor("weight").Data)
	// Output: [1 2 3 4 5 6]
}
