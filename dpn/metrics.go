package dpn

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"

	"dpnbench/internal/format"
	"dpnbench/internal/output"
	"dpnbench/internal/regular"
)

// metrics is the history of a run and its file, metrics.jsonl. Lines are added at the end, so that an epoch
// costs the same however many there were.
type metrics struct {
	history []Epoch
	sum     hash.Hash // of all lines
	size    int64     // of all lines, in bytes
	pending []byte    // the last lines, which are not in the file yet
}

// prefix is the beginning of metrics.jsonl that belongs to a state. After a crash lines of later epochs may
// follow, the last one incomplete.
type prefix struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func newMetrics() *metrics { return &metrics{sum: sha256.New()} }

// add adds the line of an epoch.
func (m *metrics) add(h Epoch) error {
	line, err := json.Marshal(h)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	m.sum.Write(line)
	m.size += int64(len(line))
	m.pending = append(m.pending, line...)
	m.history = append(m.history, h)
	return nil
}

// prefix identifies all lines so far.
func (m *metrics) prefix() prefix { return prefix{m.size, hex.EncodeToString(m.sum.Sum(nil))} }

// loadMetrics reads the lines that belong to a state after so many epochs.
func loadMetrics(path string, p prefix, epochs int) (*metrics, error) {
	r, size, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("metrics %w", fileError(path, err))
	}
	defer r.Close()
	if size < p.Bytes || p.Bytes < 0 {
		return nil, fmt.Errorf("metrics %s: %d bytes, expected at least the %d of the state", path, size, p.Bytes)
	}
	m := newMetrics()
	in := bufio.NewReaderSize(io.TeeReader(io.LimitReader(r, p.Bytes), m.sum), 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			break
		}
		var h Epoch
		if err == nil {
			err = json.Unmarshal(line, &h)
		}
		if err != nil {
			return nil, fmt.Errorf("metrics %s: line %d: %w", path, len(m.history)+1, format.JSONError(err))
		}
		m.history = append(m.history, h)
	}
	m.size = p.Bytes
	if m.prefix() != p {
		return nil, fmt.Errorf("metrics %s: other lines than those of the state", path)
	}
	for i, h := range m.history {
		if want := epochs - len(m.history) + i + 1; h.Epoch != want {
			return nil, fmt.Errorf("metrics %s: line %d: epoch %d, expected %d", path, i+1, h.Epoch, want)
		}
	}
	return m, nil
}

// restart begins the file anew, with all lines.
func (m *metrics) restart() error {
	all := m.history
	*m = *newMetrics()
	for _, h := range all {
		if err := m.add(h); err != nil {
			return err
		}
	}
	return nil
}

// written is the size of the file without what a crash may have left behind its lines.
func (m *metrics) written() int64 { return m.size - int64(len(m.pending)) }

// append writes the pending lines to the file at path, which has those before.
func (m *metrics) append(path string) error {
	if len(m.pending) == 0 {
		return nil
	}
	if err := output.Append(path, m.written(), m.pending); err != nil {
		return fmt.Errorf("metrics %w", fileError(path, err))
	}
	return nil
}
