package load

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"sextant/interp/driver"
)

const haveLoops = true

// A loop runs clients on one goroutine, each as a coroutine that gives way where it waits for its server: one system call waits for all
// of them, where Go's scheduler would park and wake a goroutine for each reply.
type loop struct {
	t       *trial
	home    int // processor that it begins on, -1: any
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

// newLoops divides clients whose sessions are driver.Polled among n loops.
func newLoops(t *trial, clients []*client, n int) (loops []*loop, err error) {
	defer func() {
		if err != nil {
			for _, l := range loops {
				err = errors.Join(err, l.close())
			}
			loops = nil
		}
	}()
	fds, cpus := make([]int, len(clients)), make([]int, len(clients))
	for i, c := range clients {
		if fds[i], err = c.detach(c.polled()); err != nil {
			return nil, err
		}
		cpus[i] = incoming(fds[i])
	}
	groups, homes := share(cpus, n)
	for g, group := range groups {
		l := &loop{t: t, home: homes[g], members: make([]member, len(group))}
		if l.epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
			return loops, fmt.Errorf("making a loop: %w", err)
		}
		if err = syscall.Pipe2(l.wake[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
			return loops, errors.Join(fmt.Errorf("making a loop: %w", err), syscall.Close(l.epoll))
		}
		loops = append(loops, l)
		err = l.watch(l.wake[0], -1, 0)
		for place, i := range group {
			c := clients[i]
			l.members[place].c, c.loop, c.place = c, l, place
			if err == nil {
				err = l.watch(fds[i], place, 0)
			}
		}
		if err != nil {
			return loops, err
		}
	}
	return loops, nil
}

// detach is Poll of a session that waits in its client's loop.
func (c *client) detach(s driver.Polled) (fd int, err error) {
	return s.Poll(func() { c.loop.wait(&c.loop.members[c.place]) })
}

// incoming is the processor on which a connection's last packet came in (socket(7), SO_INCOMING_CPU), -1 where that isn't known.
func incoming(fd int) int {
	cpu, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, unix.SO_INCOMING_CPU)
	if err != nil {
		return -1
	}
	return cpu
}

func (l *loop) watch(fd, member int, turn int32) error {
	e := syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLOUT | syscall.EPOLLRDHUP | 1<<31, Fd: int32(member), Pad: turn} // 1<<31: EPOLLET
	if err := syscall.EpollCtl(l.epoll, syscall.EPOLL_CTL_ADD, fd, &e); err != nil {
		return fmt.Errorf("watching a connection: %w", err)
	}
	return nil
}

// attach lets the loop wait for the session that client i has got in place of another.
func (l *loop) attach(i int, s driver.Polled) error {
	m := &l.members[i]
	m.ready, m.hung = false, false
	m.turn++
	fd, err := m.c.detach(s)
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

// settle puts the loop's goroutine on a thread of its own, which begins on the loop's processor and may then go to others.
func (l *loop) settle() error {
	runtime.LockOSThread() // Go would take it from thread to thread, and so from one processor to another
	var all, home unix.CPUSet
	home.Set(max(l.home, 0))
	if l.home < 0 || unix.SchedGetaffinity(0, &all) != nil || unix.SchedSetaffinity(0, &home) != nil {
		return nil // it begins anywhere
	}
	if err := unix.SchedSetaffinity(0, &all); err != nil {
		return fmt.Errorf("letting a thread go to other processors: %w", err)
	}
	return nil
}

// run runs the clients to their end.
func (l *loop) run(run func(*client)) error {
	if err := l.settle(); err != nil {
		return errors.Join(err, l.close()) // its thread ends with the goroutine
	}
	defer runtime.UnlockOSThread()
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
