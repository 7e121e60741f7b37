package template

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"
)

// execution is one run of a template.
type execution struct {
	set       *Set
	out       strings.Builder
	variables []variable // innermost last
}

type variable struct {
	name  string
	value reflect.Value
}

func (e *execution) list(list *parse.ListNode, dot reflect.Value) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		e.node(n, dot)
	}
}

func (e *execution) node(n parse.Node, dot reflect.Value) {
	switch n := n.(type) {
	case *parse.TextNode:
		e.out.Write(n.Text)
	case *parse.CommentNode:
	case *parse.ActionNode:
		if v := e.pipe(n.Pipe, dot); len(n.Pipe.Decl) == 0 {
			e.show(v)
		}
	case *parse.IfNode:
		e.scope(func() {
			if isTrue(e.pipe(n.Pipe, dot)) {
				e.list(n.List, dot)
			} else {
				e.list(n.ElseList, dot)
			}
		})
	case *parse.WithNode:
		e.scope(func() {
			if v := e.pipe(n.Pipe, dot); isTrue(v) {
				e.list(n.List, v)
			} else {
				e.list(n.ElseList, dot)
			}
		})
	case *parse.RangeNode:
		e.scope(func() { e.each(n, dot) })
	default:
		panic(mistake(fmt.Sprintf("%s is not supported", n)))
	}
}

// scope drops the variables that f declares.
func (e *execution) scope(f func()) {
	n := len(e.variables)
	f()
	e.variables = e.variables[:n]
}

// each executes a loop over a slice.
func (e *execution) each(n *parse.RangeNode, dot reflect.Value) {
	over := *n.Pipe
	over.Decl = nil
	v := indirect(e.pipe(&over, dot))
	if v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
		panic(mistake(fmt.Sprintf("range over %s, which is no slice", n.Pipe)))
	}
	for i := range v.Len() {
		e.scope(func() {
			item := []reflect.Value{reflect.ValueOf(i), v.Index(i)}
			for j, d := range n.Pipe.Decl {
				e.variables = append(e.variables, variable{d.Ident[0], item[j+2-len(n.Pipe.Decl)]})
			}
			e.list(n.List, v.Index(i))
		})
	}
	if v.Len() == 0 {
		e.list(n.ElseList, dot)
	}
}

// pipe returns the value of a pipeline of one command, and declares its variable.
func (e *execution) pipe(p *parse.PipeNode, dot reflect.Value) reflect.Value {
	if len(p.Cmds) != 1 || p.IsAssign || len(p.Decl) > 1 {
		panic(mistake(fmt.Sprintf("%s is not supported", p)))
	}
	v := e.command(p.Cmds[0], dot)
	for _, d := range p.Decl {
		e.variables = append(e.variables, variable{d.Ident[0], v})
	}
	return v
}

func (e *execution) command(c *parse.CommandNode, dot reflect.Value) reflect.Value {
	if f, ok := c.Args[0].(*parse.IdentifierNode); ok {
		args := make([]reflect.Value, len(c.Args)-1)
		for i, a := range c.Args[1:] {
			args[i] = e.value(a, dot)
		}
		return call(f.Ident, e.set.funcs[f.Ident], args)
	}
	if len(c.Args) > 1 {
		panic(mistake(fmt.Sprintf("%s: %s is no function", c, c.Args[0])))
	}
	return e.value(c.Args[0], dot)
}

func (e *execution) value(n parse.Node, dot reflect.Value) reflect.Value {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.StringNode:
		return reflect.ValueOf(n.Text)
	case *parse.NumberNode:
		if n.IsInt {
			return reflect.ValueOf(int(n.Int64))
		}
		return reflect.ValueOf(n.Float64)
	case *parse.PipeNode:
		return e.pipe(n, dot)
	case *parse.IdentifierNode:
		return call(n.Ident, e.set.funcs[n.Ident], nil)
	case *parse.FieldNode:
		return fields(dot, n.Ident)
	case *parse.VariableNode:
		for _, v := range slices.Backward(e.variables) {
			if v.name == n.Ident[0] {
				return fields(v.value, n.Ident[1:])
			}
		}
	}
	panic(mistake(fmt.Sprintf("%s is not supported", n)))
}

// indirect returns what pointers and interfaces lead to.
func indirect(v reflect.Value) reflect.Value {
	for (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && !v.IsNil() {
		v = v.Elem()
	}
	return v
}

// fields follows names from a value.
func fields(v reflect.Value, names []string) reflect.Value {
	for _, name := range names {
		v = indirect(v)
		var next reflect.Value
		switch v.Kind() {
		case reflect.Struct:
			next = v.FieldByName(name)
		case reflect.Map:
			next = v.MapIndex(reflect.ValueOf(name))
		}
		if !next.IsValid() || !next.CanInterface() {
			panic(mistake(fmt.Sprintf("no field or key %q", name)))
		}
		v = next
	}
	return v
}

// isTrue reports whether a value is neither zero nor empty.
func isTrue(v reflect.Value) bool {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Invalid:
		return false
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() > 0
	case reflect.Struct:
		return true
	}
	return !v.IsZero()
}
