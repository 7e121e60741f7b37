package exchange

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nlpodyssey/gopickle/pickle"
)

// A pickle is a program for a stack machine. PyTorch's files use few of its operations, and call a handful of
// functions. Before it runs, scan refuses everything else, and lengths beyond the end of the file; what is
// called then is Go code of this package (global in torch.go). Nothing in a file is ever executed.

// Limits of a pickle. A state dictionary takes some 30 operations and 200 bytes a tensor. They also bound the
// memory: an operation takes some hundred bytes, and messages of package pickle may repeat a text for each.
const (
	maxPickle     = 1 << 20 // bytes
	maxOperations = 50_000
	maxText       = 1000 // bytes
	maxMarks      = 100  // within each other
)

// operand says how the operand of an operation is stored.
type operand int

const (
	none    operand = 0
	lines   operand = -2 // so many lines
	string1 operand = -3 // a length of 1, 4 or 8 bytes, and so many bytes
	string4 operand = -4
	string8 operand = -5
	// A positive operand is that many bytes.
)

const (
	frame       = 0x95 // begins a part of the pickle, of a length in 8 bytes
	stackGlobal = 0x93 // STACK_GLOBAL: what a module and a name on the stack stand for
)

// operations are those that torch.save uses, of protocols 2 to 5, by their names in Python's pickletools.
var operations = map[byte]operand{
	0x80:        1, // PROTO
	frame:       8,
	'.':         none,  // STOP
	'(':         none,  // MARK
	'c':         lines, // GLOBAL
	stackGlobal: none,
	'R':         none,                         // REDUCE
	'b':         none,                         // BUILD
	'Q':         none,                         // BINPERSID
	'}':         none,                         // EMPTY_DICT
	']':         none,                         // EMPTY_LIST
	')':         none,                         // EMPTY_TUPLE
	't':         none,                         // TUPLE
	0x85:        none, 0x86: none, 0x87: none, // TUPLE1, TUPLE2, TUPLE3
	's': none, 'u': none, // SETITEM, SETITEMS
	'a': none, 'e': none, // APPEND, APPENDS
	'N': none, 0x88: none, 0x89: none, // NONE, NEWTRUE, NEWFALSE
	'J': 4, 'K': 1, 'M': 2, // BININT, BININT1, BININT2
	0x8a: string1,               // LONG1
	'G':  8,                     // BINFLOAT
	'U':  string1, 'T': string4, // SHORT_BINSTRING, BINSTRING
	0x8c: string1, 'X': string4, 0x8d: string8, // SHORT_BINUNICODE, BINUNICODE, BINUNICODE8
	'q': 1, 'r': 4, 0x94: none, // BINPUT, LONG_BINPUT, MEMOIZE
	'h': 1, 'j': 4, // BINGET, LONG_BINGET
}

// scan checks the pickle that b begins with, and returns its length.
func scan(b []byte) (n int, err error) {
	marks, count := 0, 0
	names := &names{memo: map[int]string{}}
	for at := 0; at < len(b); {
		code := b[at]
		kind, known := operations[code]
		if count++; count > maxOperations || at > maxPickle {
			return 0, fmt.Errorf("a pickle of more than %d operations or %d bytes, too large for a state dictionary",
				maxOperations, maxPickle)
		}
		if !known {
			return 0, fmt.Errorf("operation %#02x of the pickle (offset %d) is none of a state dictionary", code, at)
		}
		size, err := operandSize(b[at+1:], kind)
		if err == nil && code == frame && binary.LittleEndian.Uint64(b[at+1:]) > uint64(min(len(b)-at, maxPickle)) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, fmt.Errorf("the pickle is cut off, or damaged, at offset %d", at)
		}
		if n := size - lengthBytes[kind]; code != frame && n > maxText {
			return 0, fmt.Errorf("a text of %d bytes at offset %d of the pickle, expected at most %d", n, at, maxText)
		}
		switch code {
		case '.':
			return at + 1, nil
		case '(':
			marks++
		case 't', 'u', 'e':
			marks--
		case 'c':
			words := strings.SplitN(string(b[at+1:at+1+size]), "\n", 3)
			_, err = global(words[0], words[1])
		case stackGlobal:
			_, err = global(names.texts[0], names.texts[1])
		}
		if err != nil {
			return 0, err
		}
		names.next(code, b[at+1:at+1+size])
		if marks < 0 || marks > maxMarks {
			return 0, fmt.Errorf("the pickle has %d marks at offset %d, expected 0 to %d", marks, at, maxMarks)
		}
		at += 1 + size
	}
	return 0, fmt.Errorf("the pickle is cut off, or damaged, at offset %d", len(b))
}

// names follows the last two texts on the stack, which stackGlobal takes as module and name. The two are empty when
// something else is there.
type names struct {
	texts [2]string
	memo  map[int]string // what is not a text is empty
}

// next follows an operation with its operand.
func (n *names) next(code byte, operand []byte) {
	var index [8]byte
	copy(index[:], operand)
	at := int(binary.LittleEndian.Uint64(index[:])) // of memo
	switch code {
	case 0x8c, 'U':
		n.push(string(operand[1:]))
	case 'X', 'T':
		n.push(string(operand[4:]))
	case 0x8d:
		n.push(string(operand[8:]))
	case 'h', 'j':
		n.push(n.memo[at])
	case 'q', 'r':
		n.memo[at] = n.texts[1]
	case 0x94:
		n.memo[len(n.memo)] = n.texts[1]
	case frame:
	default:
		n.texts = [2]string{}
	}
}

func (n *names) push(text string) { n.texts = [2]string{n.texts[1], text} }

// lengthBytes are the bytes before a text that say how long it is.
var lengthBytes = map[operand]int{string1: 1, string4: 4, string8: 8}

// operandSize returns the bytes that an operand takes, all within b.
func operandSize(b []byte, kind operand) (size int, err error) {
	prefix := lengthBytes[kind]
	switch {
	case kind >= 0:
		size = int(kind)
	case prefix > 0:
		if len(b) < prefix {
			return 0, io.ErrUnexpectedEOF
		}
		var length [8]byte
		copy(length[:], b[:prefix])
		n := binary.LittleEndian.Uint64(length[:])
		if n > uint64(len(b)-prefix) {
			return 0, io.ErrUnexpectedEOF
		}
		size = prefix + int(n)
	default:
		for range -int(kind) {
			end := bytes.IndexByte(b[size:], '\n')
			if end < 0 {
				return 0, io.ErrUnexpectedEOF
			}
			size += end + 1
		}
	}
	if size > len(b) {
		return 0, io.ErrUnexpectedEOF
	}
	return size, nil
}

// unpickle returns the value of the pickle that b begins with, and its length. load answers references to data
// outside of the pickle.
func unpickle(b []byte, load func(id any) (any, error)) (value any, n int, err error) {
	if n, err = scan(b); err != nil {
		return nil, 0, err
	}
	defer func() { // some damaged pickles make the package panic
		if v := recover(); v != nil {
			err = fmt.Errorf("the pickle is damaged: %v", v)
		}
	}()
	u := pickle.NewUnpickler(bytes.NewReader(b[:n]))
	u.FindClass = global
	u.PersistentLoad = load
	value, err = u.Load()
	if err != nil && !errors.As(err, new(*globalError)) {
		err = fmt.Errorf("the pickle is damaged: %w", err)
	}
	return value, n, err
}
