package lang

import (
	"context"
	"fmt"
	"runtime/metrics"
	"sync"
	"time"

	"go.starlark.net/starlark"
)

// limits stops threads that take too long, too many steps or too much memory.
type limits struct {
	ctx      context.Context
	maxSteps uint64
	done     chan struct{}
	wg       sync.WaitGroup

	mu      sync.Mutex
	threads []*starlark.Thread
	reason  string
}

const (
	defaultSteps = 1_000_000_000
	defaultTime  = time.Minute
	defaultBytes = 2 << 30
)

func newLimits(ctx context.Context, opt Options) *limits {
	l := &limits{ctx: ctx, maxSteps: opt.MaxSteps, done: make(chan struct{})}
	if l.maxSteps == 0 {
		l.maxSteps = defaultSteps
	}
	maxTime, maxBytes := opt.MaxTime, opt.MaxBytes
	if maxTime == 0 {
		maxTime = defaultTime
	}
	if maxBytes == 0 {
		maxBytes = defaultBytes
	}
	l.wg.Go(func() { l.guard(maxTime, maxBytes) })
	return l
}

// guard looks at clock and heap until stop.
func (l *limits) guard(maxTime time.Duration, maxBytes uint64) {
	begin := heapBytes()
	late := time.NewTimer(maxTime)
	defer late.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-l.done:
			return
		case <-l.ctx.Done():
			l.cancel("interrupted")
			return
		case <-late.C:
			l.cancel(fmt.Sprintf("the script takes more than %v", maxTime))
			return
		case <-look.C:
			if now := heapBytes(); now > begin && now-begin > maxBytes {
				l.cancel(fmt.Sprintf("the script takes more than %d MiB of memory", maxBytes>>20))
				return
			}
		}
	}
}

func heapBytes() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return s[0].Value.Uint64()
}

func (l *limits) watch(t *starlark.Thread) {
	t.SetMaxExecutionSteps(l.maxSteps)
	t.OnMaxSteps = func(t *starlark.Thread) {
		t.Cancel(fmt.Sprintf("the script takes more than %d steps", l.maxSteps))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reason != "" {
		t.Cancel(l.reason)
	}
	l.threads = append(l.threads, t)
}

func (l *limits) cancel(reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reason = reason
	for _, t := range l.threads {
		t.Cancel(reason)
	}
}

// broken is why everything must end, or "".
func (l *limits) broken() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reason
}

func (l *limits) stop() {
	close(l.done)
	l.wg.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.threads = nil
}
