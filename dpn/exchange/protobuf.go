package exchange

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"dpnbench/internal/array"

	"google.golang.org/protobuf/encoding/protowire"
)

// The messages of ONNX that a network needs, as bytes of the protocol buffers of
// https://github.com/onnx/onnx/blob/main/onnx/onnx.proto (fields by their numbers there).

// Types of elements of tensors, and of attributes.
const (
	onnxFloat = 1
	onnxInt64 = 7
	onnxBool  = 9

	attributeFloat = 1
	attributeInt   = 2
	attributeGraph = 5
	attributeInts  = 7
)

// message is an encoded message.
type message []byte

func (m *message) text(field protowire.Number, s string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), s)
}

func (m *message) bytes(field protowire.Number, b []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), b)
}

func (m *message) int(field protowire.Number, v int) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(v))
}

func (m *message) float(field protowire.Number, v float32) {
	*m = protowire.AppendFixed32(protowire.AppendTag(*m, field, protowire.Fixed32Type), math.Float32bits(v))
}

// attribute is an AttributeProto.
type attribute message

func named(name string, kind int) message {
	var m message
	m.text(1, name)
	m.int(20, kind)
	return m
}

func intOf(name string, v int) attribute {
	m := named(name, attributeInt)
	m.int(3, v)
	return attribute(m)
}

func floatOf(name string, v float32) attribute {
	m := named(name, attributeFloat)
	m.float(2, v)
	return attribute(m)
}

func intsOf(name string, v ...int) attribute {
	m := named(name, attributeInts)
	for _, x := range v {
		m.int(8, x)
	}
	return attribute(m)
}

func graphOf(name string, g message) attribute {
	m := named(name, attributeGraph)
	m.bytes(6, g)
	return attribute(m)
}

// graph is a GraphProto whose nodes are in the order of computation. The constants (initialisers) of a
// graph within another belong to the outer one.
type graph struct {
	body  message // without the constants of floats
	names int     // of values so far
	outer *graph

	floats []constant
}

// constant is a tensor of floats.
type constant struct {
	head message // its TensorProto without the numbers
	data []float32
}

// node adds an operator with one output, which it returns.
func (g *graph) node(operator string, inputs []string, attributes ...attribute) (output string) {
	return g.operator(operator, inputs, 1, attributes...)
}

// operator is node for an operator with more outputs, of which it returns the first.
func (g *graph) operator(operator string, inputs []string, outputs int, attributes ...attribute) (output string) {
	var m message
	for _, name := range inputs {
		m.text(1, name)
	}
	output = g.name(operator)
	m.text(2, output)
	for range outputs - 1 {
		m.text(2, g.name(operator))
	}
	m.text(3, output)
	m.text(4, operator)
	for _, a := range attributes {
		m.bytes(5, a)
	}
	g.body.bytes(1, m)
	return output
}

// name returns a new name; those of all graphs in one another differ.
func (g *graph) name(of string) string {
	root := g.root()
	root.names++
	return fmt.Sprintf("%s_%d", of, root.names)
}

func (g *graph) root() *graph {
	for g.outer != nil {
		g = g.outer
	}
	return g
}

// constant adds a tensor of floats under a name, which it returns. The numbers must not change until
// the graph is written.
func (g *graph) constant(name string, data []float32, shape ...int) string {
	m := tensorHead(name, onnxFloat, shape)
	g = g.root()
	g.floats = append(g.floats, constant{m, data})
	return name
}

// integers adds a vector of integers under a name, which it returns.
func (g *graph) integers(name string, data ...int) string {
	return g.int64s(name, data, len(data))
}

// integer is integers for a scalar.
func (g *graph) integer(name string, v int) string { return g.int64s(name, []int{v}) }

func (g *graph) int64s(name string, data []int, shape ...int) string {
	m := tensorHead(name, onnxInt64, shape)
	var raw []byte
	for _, v := range data {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	m.bytes(rawData, raw)
	g.root().body.bytes(initializer, m)
	return name
}

// truth adds a scalar that is true under a name, which it returns.
func (g *graph) truth(name string) string {
	m := tensorHead(name, onnxBool, nil)
	m.bytes(rawData, []byte{1})
	g.root().body.bytes(initializer, m)
	return name
}

// Fields of TensorProto, GraphProto and ModelProto.
const (
	rawData     = 9
	initializer = 5
	graphField  = 7
)

func tensorHead(name string, element int, shape []int) message {
	var m message
	for _, d := range shape {
		m.int(1, d)
	}
	m.int(2, element)
	m.text(8, name)
	return m
}

// Fields of GraphProto for values that come from outside, and that are results.
const (
	graphInput  = 11
	graphOutput = 12
)

// value declares an input or output of the graph. A dimension is a number, or a text for one that is open.
func (g *graph) value(field protowire.Number, name string, element int, shape ...any) {
	var dims message
	for _, d := range shape {
		var m message
		switch d := d.(type) {
		case int:
			m.int(1, d)
		case string:
			m.text(2, d)
		}
		dims.bytes(1, m)
	}
	var tensor, kind, m message
	tensor.int(1, element)
	tensor.bytes(2, dims)
	kind.bytes(1, tensor)
	m.text(1, name)
	m.bytes(2, kind)
	g.body.bytes(field, m)
}

// maxProto is the largest message that readers of protocol buffers accept, in bytes.
const maxProto = math.MaxInt32

// write writes head, the fields of a ModelProto, with the graph as one more field.
func (g *graph) write(w io.Writer, head message) error {
	size := len(g.body)
	fields := make([]message, len(g.floats)) // what comes before the numbers of each constant
	for i, c := range g.floats {
		raw := 4 * len(c.data)
		tensor := append(message(nil), c.head...)
		tensor = protowire.AppendVarint(protowire.AppendTag(tensor, rawData, protowire.BytesType), uint64(raw))
		f := protowire.AppendTag(nil, initializer, protowire.BytesType)
		f = protowire.AppendVarint(f, uint64(len(tensor)+raw))
		fields[i] = append(f, tensor...)
		size += len(fields[i]) + raw
	}
	if size > maxProto-len(head)-16 {
		return fmt.Errorf("onnx: %d bytes of weights, expected less than 2 GiB, the limit of the format", size)
	}
	head = protowire.AppendVarint(protowire.AppendTag(head, graphField, protowire.BytesType), uint64(size))
	for _, b := range []message{head, g.body} {
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	for i, c := range g.floats {
		if _, err := w.Write(fields[i]); err != nil {
			return err
		}
		if err := array.WriteFloats(w, c.data); err != nil {
			return err
		}
	}
	return nil
}
