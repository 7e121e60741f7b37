package template

import (
	"cmp"
	"fmt"
	"reflect"
)

// predefined are the functions of every template.
var predefined = Funcs{
	"and":    func(v ...any) any { return first(v, false) },
	"or":     func(v ...any) any { return first(v, true) },
	"not":    func(v any) bool { return !isTrue(reflect.ValueOf(v)) },
	"eq":     func(a, b any) (bool, error) { c, err := compare(a, b); return c == 0, err },
	"ge":     func(a, b any) (bool, error) { c, err := compare(a, b); return c >= 0, err },
	"len":    func(v any) int { return indirect(reflect.ValueOf(v)).Len() },
	"index":  func(v any, i int) any { return indirect(reflect.ValueOf(v)).Index(i).Interface() },
	"printf": fmt.Sprintf,
}

// first returns the first value whose truth is as wanted, or the last one.
func first(values []any, want bool) any {
	for _, v := range values[:len(values)-1] {
		if isTrue(reflect.ValueOf(v)) == want {
			return v
		}
	}
	return values[len(values)-1]
}

// compare compares two whole numbers or two strings.
func compare(a, b any) (int, error) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	switch {
	case x.CanInt() && y.CanInt():
		return cmp.Compare(x.Int(), y.Int()), nil
	case x.Kind() == reflect.String && y.Kind() == reflect.String:
		return cmp.Compare(x.String(), y.String()), nil
	}
	return 0, fmt.Errorf("cannot compare %v (%T) and %v (%T)", a, a, b, b)
}

// call calls a function. Numbers without a fraction in the template fit every type of number.
func call(name string, function any, args []reflect.Value) reflect.Value {
	f := reflect.ValueOf(function)
	t := f.Type()
	if n := t.NumIn(); len(args) < n && !(t.IsVariadic() && len(args) == n-1) || len(args) > n && !t.IsVariadic() {
		panic(mistake(fmt.Sprintf("%s has %d arguments, want %d", name, len(args), n)))
	}
	for i, v := range args {
		want := t.In(min(i, t.NumIn()-1))
		if t.IsVariadic() && i >= t.NumIn()-1 {
			want = want.Elem()
		}
		if v.IsValid() && v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		switch {
		case !v.IsValid():
			v = reflect.Zero(want)
		case v.Type().AssignableTo(want):
		case v.CanInt() && want.Kind() == reflect.Float64:
			v = v.Convert(want)
		case indirect(v).Type().AssignableTo(want):
			v = indirect(v)
		default:
			panic(mistake(fmt.Sprintf("argument %d of %s is a %s, want a %s", i+1, name, v.Type(), want)))
		}
		args[i] = v
	}
	out := f.Call(args)
	if len(out) == 2 && !out[1].IsNil() {
		panic(mistake(fmt.Sprintf("%s: %v", name, out[1].Interface())))
	}
	return out[0]
}
