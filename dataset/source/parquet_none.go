//go:build !parquet

package source

import "fmt"

// readParquet refuses Parquet files, whose reader adds 5.5 MB to the program.
func readParquet(path string, _ Options) (*content, error) {
	return nil, fmt.Errorf("%s: this program was built without Parquet, expected one built by go build -tags parquet",
		path)
}
