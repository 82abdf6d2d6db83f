package load

import (
	"errors"
	"fmt"
	"iter"
	"sync"
	"syscall"

	"sextant/interp/driver"
)

const haveLoops = true

// A loop runs clients on one goroutine, each as a coroutine that gives way where it waits for its server: one system call waits for all
// of them, where Go's scheduler would park and wake a goroutine for each reply.
type loop struct {
	t       *trial
	epoll   int
	wake    [2]int // pipe: work outside has ended
	members []member

	mu   sync.Mutex
	back []int // members whose work outside has ended
}

type member struct {
	c      *client
	next   func() (struct{}, bool) // runs the client until it gives way; false: it has ended
	yield  func(struct{}) bool
	turn   int32 // number of its session, so that what was reported of the one before isn't taken for this one's
	parked bool  // it waits for its descriptor
	ready  bool  // that was reported while it didn't
	hung   bool  // the other side has closed it: no edge will be reported any more
}

// newLoop takes clients whose sessions are driver.Polled.
func newLoop(t *trial, clients []*client) (*loop, error) {
	l := &loop{t: t, members: make([]member, len(clients))}
	var err error
	if l.epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("making a loop: %w", err)
	}
	if err = syscall.Pipe2(l.wake[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		return nil, errors.Join(fmt.Errorf("making a loop: %w", err), syscall.Close(l.epoll))
	}
	err = l.watch(l.wake[0], -1, 0)
	for i, c := range clients {
		l.members[i].c = c
		c.loop, c.place = l, i
		if err == nil {
			err = c.attach()
		}
	}
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *loop) watch(fd, member int, turn int32) error {
	e := syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLOUT | syscall.EPOLLRDHUP | 1<<31, Fd: int32(member), Pad: turn} // 1<<31: EPOLLET
	if err := syscall.EpollCtl(l.epoll, syscall.EPOLL_CTL_ADD, fd, &e); err != nil {
		return fmt.Errorf("watching a connection: %w", err)
	}
	return nil
}

// attach lets the loop wait for the session that client i has now.
func (l *loop) attach(i int, s driver.Polled) error {
	m := &l.members[i]
	m.ready, m.hung = false, false
	m.turn++
	fd, err := s.Poll(func() { l.wait(m) })
	if err != nil {
		return err
	}
	return l.watch(fd, i, m.turn)
}

func (l *loop) close() error {
	return errors.Join(syscall.Close(l.epoll), syscall.Close(l.wake[0]), syscall.Close(l.wake[1]))
}

// wait gives way until the descriptor of m is reported.
func (l *loop) wait(m *member) {
	if m.ready || m.hung {
		m.ready = false
		return
	}
	m.parked = true
	m.yield(struct{}{})
	m.parked = false
}

// outside does what would block the loop on a goroutine of its own, and gives way until that is done.
func (l *loop) outside(i int, fn func()) {
	go func() {
		fn()
		l.mu.Lock()
		l.back = append(l.back, i)
		l.mu.Unlock()
		_, _ = syscall.Write(l.wake[1], []byte{0}) // a full pipe wakes the loop as well
	}()
	l.members[i].yield(struct{}{})
}

// run runs the clients to their end.
func (l *loop) run(run func(*client)) error {
	left := len(l.members)
	step := func(m *member) {
		if _, more := m.next(); !more {
			left--
		}
	}
	for i := range l.members {
		m := &l.members[i]
		m.next, _ = iter.Pull(func(yield func(struct{}) bool) {
			m.yield = yield
			run(m.c)
		})
	}
	for i := range l.members {
		step(&l.members[i])
	}
	events := make([]syscall.EpollEvent, 256)
	for left > 0 {
		n, err := l.ready(events)
		if err != nil {
			return fmt.Errorf("waiting for connections: %w", err)
		}
		came := l.t.clock.now()
		for i, e := range events[:n] {
			if e.Fd < 0 {
				l.returned(step)
				continue
			}
			m := &l.members[e.Fd]
			if e.Pad != m.turn {
				continue
			}
			m.hung = m.hung || e.Events&(syscall.EPOLLRDHUP|syscall.EPOLLHUP|syscall.EPOLLERR) != 0
			if !m.parked {
				m.ready = true
				continue
			}
			if i > 0 {
				m.c.rec.held(came, l.t.clock.now())
			}
			step(m)
		}
	}
	return l.close()
}

// ready waits for connections. Go's scheduler takes a processor away from a thread that is in a system call for more than 20 us when
// no other is idle, and gives it back at a cost above that of the loop: so it has got one more for each loop. (Not telling it of the
// call is no faster, and holds up the garbage collector where processors are scarce.)
func (l *loop) ready(events []syscall.EpollEvent) (int, error) {
	for {
		if n, err := syscall.EpollWait(l.epoll, events, -1); !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}

// returned goes on with the clients whose work outside has ended.
func (l *loop) returned(step func(*member)) {
	var sink [64]byte
	for {
		if n, _ := syscall.Read(l.wake[0], sink[:]); n < len(sink) {
			break
		}
	}
	l.mu.Lock()
	back := l.back
	l.back = nil
	l.mu.Unlock()
	for _, i := range back {
		step(&l.members[i])
	}
}
