// Package report builds self-contained HTML pages, and the pages that describe a model.
//
// A [Page] holds [Text], lists, tables, figures and a [Walk] in one file that needs no
// network: readable on a phone, printable, usable by keyboard and screen reader.
//
//	p := report.Page{Title: "Layers", Sections: []report.Section{{Title: "D", Blocks: blocks}}}
//	err := p.Save("out/report.html")
//
// An [Analysis] is what package study measured of one model: [Analysis.Figures] returns its figures
// and [AnalysisPage] its page. [Uncertainty] and [UncertaintyPage] do the same for the scores that
// separate known from unknown images. The prose of these pages is in prose/*.tmpl.
//
// Figures are those of package plot; [NewPanel] and [NewLaw] convert results of package
// separation for it. The same data give the same bytes.
package report
