package mpi

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"dpnbench/internal/parallel"
)

// Local returns n ranks in this process, for a goroutine each. A message is copied once, when both sides have asked for
// it.
func Local(n int) []Comm {
	g := &group{ranks: make([]local, n), failed: make(chan struct{}), pairs: make([]pair, n*n)}
	comms := make([]Comm, n)
	for i := range g.ranks {
		g.ranks[i] = local{group: g, rank: i}
		comms[i] = &g.ranks[i]
	}
	return comms
}

// group are the ranks of one Local.
type group struct {
	ranks  []local
	pairs  []pair        // from rank i to rank j at i*n + j
	failed chan struct{} // closed after failure is set
	once   sync.Once
	cause  *RankError
}

// pair are the messages from one rank to another that one side has begun: at most one of the queues has any.
type pair struct {
	sync.Mutex
	sends, recvs []*message
}

// message is one side of a message.
type message struct {
	b    []byte
	done chan error
}

// local is one rank of a group.
type local struct {
	*group
	rank     int
	messages []*message // by Request
	free     []Request
}

func (l *local) Rank() int     { return l.rank }
func (l *local) Size() int     { return len(l.ranks) }
func (l *local) NodeSize() int { return len(l.ranks) }

func (l *local) Progress() {} // the last of both sides moves a message

func (l *local) OnSlow(func(rank int, waited time.Duration)) {}

func (l *local) Send(to int, b []byte) (Request, error) {
	p := &l.pairs[l.rank*len(l.ranks)+to]
	return l.begin(p, &p.sends, &p.recvs, b, func(mine, other *message) { copy(other.b, mine.b) })
}

func (l *local) Recv(from int, b []byte) (Request, error) {
	p := &l.pairs[from*len(l.ranks)+l.rank]
	return l.begin(p, &p.recvs, &p.sends, b, func(mine, other *message) { copy(mine.b, other.b) })
}

// begin meets the other side's message, or queues this one for it.
func (l *local) begin(p *pair, mine, theirs *[]*message, b []byte, move func(mine, other *message)) (Request, error) {
	if err := l.failure(); err != nil {
		return 0, err
	}
	r := l.request()
	m := l.messages[r]
	m.b = b
	p.Lock()
	if len(*theirs) == 0 {
		*mine = append(*mine, m)
		p.Unlock()
		return r, nil
	}
	other := (*theirs)[0]
	*theirs = append((*theirs)[:0], (*theirs)[1:]...) // keeps its memory
	p.Unlock()
	var err error
	if len(other.b) != len(b) {
		err = fmt.Errorf("a message of %d bytes where the other rank expects %d", len(b), len(other.b))
	} else {
		move(m, other)
	}
	other.done <- err
	m.done <- err
	return r, nil
}

// request returns a free request, which has a message.
func (l *local) request() Request {
	if len(l.free) == 0 {
		l.messages = append(l.messages, &message{done: make(chan error, 1)})
		return Request(len(l.messages) - 1)
	}
	r := l.free[len(l.free)-1]
	l.free = l.free[:len(l.free)-1]
	return r
}

func (l *local) Wait(r Request) error {
	m := l.messages[r]
	select {
	case err := <-m.done:
		m.b = nil
		l.free = append(l.free, r)
		return err
	case <-l.failed:
		return l.failure()
	}
}

// failure returns the cause of another rank, after Abort.
func (l *local) failure() error {
	select {
	case <-l.failed:
		return l.cause
	default:
		return nil
	}
}

func (l *local) Abort(reason string) {
	l.once.Do(func() {
		l.cause = &RankError{l.rank, reason, false}
		close(l.failed)
	})
}

// Run calls f for each rank of Local(n), on goroutines of their own, and returns when all calls have. If one fails,
// the messages of the others fail, too, and Run returns the error of the one that failed first. It panics as
// parallel.Each does.
func Run(n int, f func(c Comm) error) error {
	comms, errs := Local(n), make([]error, n)
	parallel.Each(n, n, func(i int) { // on n goroutines: they wait for each other
		why := "panic"
		defer func() {
			if why != "" {
				comms[i].Abort(why)
			}
		}()
		if errs[i] = f(comms[i]); errs[i] != nil {
			why = errs[i].Error()
		} else {
			why = ""
		}
	})
	for _, err := range errs {
		if err != nil && !errors.As(err, new(*RankError)) {
			return err
		}
	}
	return errors.Join(errs...)
}
