package main

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
)

// stream is our standard output or error. Its reader may leave, as head does
// and a terminal that is closed. What is written then is lost, and no error: a
// service works on without its log.
type stream struct {
	file *os.File
	once sync.Once
	left chan struct{} // closed when a write has found no reader
}

func newStream(f *os.File) *stream { return &stream{file: f, left: make(chan struct{})} }

// Write implements [io.Writer].
func (s *stream) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.EIO) {
		s.once.Do(func() { close(s.left) })
		return len(p), nil
	}
	return n, err
}

// Stat is what the stream is.
func (s *stream) Stat() (os.FileInfo, error) { return s.file.Stat() }

// whileRead is ctx, and ends also when nobody reads what is printed any more.
func (c console) whileRead(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	var watches sync.WaitGroup
	for _, w := range []io.Writer{c.out, c.err} {
		if s, ok := w.(*stream); ok {
			watches.Go(func() {
				select {
				case <-s.left:
					end(errUnread)
				case <-ctx.Done():
				}
			})
		}
	}
	return ctx, func() {
		end(nil)
		watches.Wait()
	}
}
