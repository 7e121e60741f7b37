package fetch_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"dpnbench/dataset/fetch"
)

// Fetch a file of one's own.
func Example() {
	const table = "1,a\n2,b\n"
	serve := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, table) }
	server := httptest.NewServer(http.HandlerFunc(serve))
	defer server.Close()
	dir, err := os.MkdirTemp("", "fetch")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, mirrors, sum := context.Background(), []string{server.URL}, fmt.Sprintf("%x", sha256.Sum256([]byte(table)))

	files := []fetch.File{{Name: "a.csv", Size: 8, SHA256: sum}}
	err = fetch.Files(ctx, dir, fetch.Options{Files: files, Mirrors: mirrors})
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := os.ReadFile(filepath.Join(dir, "a.csv"))
	fmt.Println(string(b) == table, err)
	// Output: true <nil>
}
