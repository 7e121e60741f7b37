package report

import (
	"embed"

	"dpnbench/internal/prose"
)

//go:embed prose/*.tmpl
var proseFiles embed.FS

// text has the sentences of the pages of an analysis and of uncertainty.
var text = prose.Parse(proseFiles, "prose/*.tmpl")
