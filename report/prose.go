package report

import (
	"embed"
	"regexp"
	"strings"

	"dpnbench/dataset"
	"dpnbench/internal/prose"
)

//go:embed prose/*.tmpl
var proseFiles embed.FS

// text has the sentences of the pages of an analysis and of uncertainty, vectorText the same of vectors.
var (
	text       = prose.Parse(proseFiles, "prose/*.tmpl")
	vectorText = prose.ParseAs(proseFiles, "prose/*.tmpl", vectorWords)
)

var imageWord = regexp.MustCompile(`([^.\w])([Aa]n )?([Ii])mage(s?)\b`)

// vectorWords turns sentences about images into those about vectors; the fields of a template keep their names.
func vectorWords(text string) string {
	return imageWord.ReplaceAllStringFunc(text, func(s string) string {
		m := imageWord.FindStringSubmatch(s)
		article := strings.Replace(m[2], "n ", " ", 1)
		noun := "vector"
		if m[3] == "I" {
			noun = "Vector"
		}
		return m[1] + article + noun + m[4]
	})
}

// textOf returns the sentences that name samples of a shape rightly.
func textOf(s dataset.Shape) prose.Set {
	if s.IsImage() {
		return text
	}
	return vectorText
}

func (a Analysis) text() prose.Set { return textOf(a.Model.Shape) }
func (a Analysis) samples() string { return a.Model.Shape.Samples() }
func (a Analysis) sample() string  { return a.Model.Shape.Sample() }

func (u Uncertainty) text() prose.Set { return textOf(u.Model.Shape) }
func (u Uncertainty) samples() string { return u.Model.Shape.Samples() }
