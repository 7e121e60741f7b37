package fetch

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// hidden stands for a password, a user's name or a query in a message.
const hidden = "xxxxx"

// join returns the address of a file below a mirror's. A query stays at the end.
func join(mirror, name string) string {
	u, err := url.Parse(mirror)
	if err != nil {
		return strings.TrimSuffix(mirror, "/") + "/" + name
	}
	return u.JoinPath(name).String()
}

// Redact returns an address without user, password and query, which may be secrets.
func Redact(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" { // hide all that may be a part of the password
		start := 0
		if i := strings.Index(address, "://"); i >= 0 {
			start = i + len("://")
		}
		if at := strings.LastIndex(address, "@"); at >= start {
			address = address[:start] + hidden + address[at:]
		}
		before, _, query := strings.Cut(address, "?")
		if query {
			before += "?" + hidden
		}
		return printable(before)
	}
	if u.User != nil {
		u.User = url.User(hidden)
	}
	if u.RawQuery != "" {
		u.RawQuery = hidden
	}
	return printable(u.String())
}

// userInfo matches user and password in an address within a text.
var userInfo = regexp.MustCompile(`//[^/\s"]*@`)

// failure is the error of an attempt, with its address. The message has neither the secrets of the
// address nor control characters, which a server may have sent.
func failure(address string, err error) error {
	text := userInfo.ReplaceAllString(err.Error(), "//"+hidden+"@")
	if u, parseErr := url.Parse(address); parseErr == nil {
		var secrets []string
		if password, ok := u.User.Password(); ok {
			_, escaped, _ := strings.Cut(u.User.String(), ":")
			secrets = append(secrets, password, escaped)
		}
		for _, s := range append(secrets, u.RawQuery) {
			if s != "" {
				text = strings.ReplaceAll(text, s, hidden)
			}
		}
	} else {
		text = "not an address"
	}
	return &attemptError{fmt.Sprintf("%s: %s", Redact(address), printable(text)), err}
}

// attemptError is an error with another text.
type attemptError struct {
	text string
	err  error
}

func (e *attemptError) Error() string { return e.text }

func (e *attemptError) Unwrap() error { return e.err }

// printable escapes what a terminal does not print, and cuts long texts.
func printable(text string) string {
	const most = 300
	cut := ""
	if len(text) > most {
		text, cut = strings.ToValidUTF8(text[:most], ""), "..."
	}
	for _, r := range text {
		if !strconv.IsPrint(r) || r == '\uFFFD' {
			quoted := strconv.QuoteToGraphic(text)
			return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`) + cut
		}
	}
	return text + cut
}
