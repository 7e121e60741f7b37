package source

import "io"

// stopped returns the error of the context, if that has ended.
func (o Options) stopped() error {
	if o.ctx == nil {
		return nil
	}
	return o.ctx.Err()
}

// reader returns r, which fails once the context has ended.
func (o Options) reader(r io.Reader) io.Reader { return stoppable{r, o} }

type stoppable struct {
	io.Reader
	opt Options
}

func (s stoppable) Read(b []byte) (int, error) {
	if err := s.opt.stopped(); err != nil {
		return 0, err
	}
	return s.Reader.Read(b)
}
