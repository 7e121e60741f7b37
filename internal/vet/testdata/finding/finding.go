package finding

import "fmt"

var _ = fmt.Sprintf("%d", "a text")
