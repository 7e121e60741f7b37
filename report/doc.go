// Package report builds self-contained HTML pages, and the pages that describe a model.
//
//	table := report.Table{Columns: columns, Rows: rows}
//	section := report.Section{Title: "Layers", Blocks: []report.Block{report.Text("One's own."), table}}
//	page := report.Page{Title: "Separation", Sections: []report.Section{section}}
//	err = page.Save(path) // one file, which needs no other and no network
//
// A [Page] holds [Text], lists, tables, figures and a [Walk] in one file that needs no
// network: readable on a phone, printable, usable by keyboard and screen reader.
//
// An [Analysis] is what package study measured of one model: [Analysis.Figures] returns its figures
// and [AnalysisPage] its page. [Uncertainty] and [UncertaintyPage] do the same for the scores that
// separate known from unknown images. The prose of these pages is in prose/*.tmpl.
//
// Figures are those of package plot; [NewPanel] and [NewLaw] convert results of package
// separation for it. The same data give the same bytes.
package report
