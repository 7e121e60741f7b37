package potential

import "fmt"

// SettingError says what is wrong with a setting.
type SettingError struct {
	Setting string // its name in a TOML file and as a flag
	Value   any
	Problem string // what was expected
}

func (e *SettingError) Error() string {
	v := fmt.Sprint(e.Value)
	if s, ok := e.Value.(string); ok {
		v = fmt.Sprintf("%q", s)
	}
	return e.Setting + " " + v + ": " + e.Problem
}
