package mpi

// broadcastPiece is the number of bytes that Broadcast sends at a time: a rank passes a piece on while its parent
// sends the next one.
const broadcastPiece = 1 << 20

// Broadcast copies b of rank root to b of all ranks, along a binary tree. All ranks call it with the same length.
func Broadcast(c Comm, root int, b []byte) error {
	n := c.Size()
	at := (c.Rank() - root + n) % n // in the tree: the root is 0, the children of i are 2i+1 and 2i+2
	rank := func(i int) int { return (i + root) % n }
	for len(b) > 0 {
		piece := b[:min(len(b), broadcastPiece)]
		b = b[len(piece):]
		if at > 0 {
			if err := receive(c, rank((at-1)/2), piece); err != nil {
				return err
			}
		}
		if err := send(c, piece, rank, 2*at+1, min(2*at+3, n)); err != nil {
			return err
		}
	}
	return nil
}

func receive(c Comm, from int, b []byte) error {
	r, err := c.Recv(from, b)
	if err != nil {
		return err
	}
	return c.Wait(r)
}

// send sends b to the ranks of the children lo to hi-1, at most two.
func send(c Comm, b []byte, rank func(int) int, lo, hi int) error {
	var sent [2]Request
	for child := lo; child < hi; child++ {
		r, err := c.Send(rank(child), b)
		if err != nil {
			return err
		}
		sent[child-lo] = r
	}
	for child := lo; child < hi; child++ {
		if err := c.Wait(sent[child-lo]); err != nil {
			return err
		}
	}
	return nil
}

// Barrier returns when all ranks have called it. After round i a rank has heard of 2^(i+1) ranks.
func Barrier(c Comm) error {
	n := c.Size()
	for far := 1; far < n; far *= 2 {
		in, err := c.Recv((c.Rank()-far+n)%n, nil)
		if err != nil {
			return err
		}
		out, err := c.Send((c.Rank()+far)%n, nil)
		if err != nil {
			return err
		}
		if err := c.Wait(in); err != nil {
			return err
		}
		if err := c.Wait(out); err != nil {
			return err
		}
	}
	return nil
}
