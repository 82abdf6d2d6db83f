package postgres

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sextant/interp/driver"
	"sextant/interp/driver/drivertest"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// hotLoad is a load.Workload on the one row of hotWorkload: reads only.
type hotLoad struct{ oneRow }

func (hotLoad) Shape() *driver.Workload {
	w := hotWorkload()
	w.Ops = w.Ops[:1]
	return w
}
func (hotLoad) Start(uint64)              {}
func (hotLoad) Client(int) load.Generator { return hotReads{} }

type hotReads struct{}

func (hotReads) Next(_ *load.Rand, op *driver.Op) { op.Key = []byte("k") }

// Whatever the network does, a trial ends in time, its books balance, and what went wrong is classed.
func TestFaultyNetwork(t *testing.T) {
	s := local(t, map[string]any{"settings": map[string]any{"fsync": false}})
	if err := s.Load(t.Context(), hotWorkload(), "f", oneRow{}); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		fault    func(*drivertest.Proxy) // at a third of the window
		mend     func(*drivertest.Proxy) // at two thirds
		errors   load.Outcome            // that must be seen; OK: none
		slowest  time.Duration           // lower bound of the longest response; 0: not looked at
		timeout  time.Duration
		recovers bool
	}{
		"nothing":        {func(*drivertest.Proxy) {}, func(*drivertest.Proxy) {}, load.OK, 0, 0, true},
		"delay":          {func(p *drivertest.Proxy) { p.Delay(30 * time.Millisecond) }, func(p *drivertest.Proxy) { p.Delay(0) }, load.OK, 30 * time.Millisecond, 0, true},
		"drip":           {func(p *drivertest.Proxy) { p.Drip(true) }, func(p *drivertest.Proxy) { p.Drip(false) }, load.OK, 0, 0, true},
		"stall":          {func(p *drivertest.Proxy) { p.Stall(true) }, func(p *drivertest.Proxy) { p.Stall(false) }, load.OK, 250 * time.Millisecond, 0, true},
		"stall, timeout": {func(p *drivertest.Proxy) { p.Stall(true) }, func(p *drivertest.Proxy) { p.Stall(false) }, load.TimedOut, 0, 50 * time.Millisecond, false},
		"cut":            {func(p *drivertest.Proxy) { p.Cut() }, func(*drivertest.Proxy) {}, load.ConnectionLost, 0, 0, true},
		"half-close":     {func(p *drivertest.Proxy) { p.HalfClose() }, func(*drivertest.Proxy) {}, load.ConnectionLost, 0, 0, true},
		"cut, refuse":    {func(p *drivertest.Proxy) { p.Refuse(true); p.Cut() }, func(p *drivertest.Proxy) { p.Refuse(false) }, load.ConnectionLost, 0, 0, true},
	} {
		for _, clients := range []int{2, 12} { // both ways of waiting for replies
			t.Run(fmt.Sprintf("%s/%d", name, clients), func(t *testing.T) {
				proxy := drivertest.NewProxy(t, fmt.Sprintf("127.0.0.1:%d", s.cfg.Port))
				url := fmt.Sprintf("postgres://sextant:%s@%s/postgres?sslmode=disable", s.cfg.Password, proxy.Addr)
				o := map[string]any{"url": url}
				sys, err := Driver().Open(t.Context(), driver.Target{System: &spec.System{Maker: "server", Options: o}, Options: o, Log: func(string, string) {}})
				if err != nil {
					t.Fatal(err)
				}
				defer sys.Close(context.Background()) //nolint:errcheck // its connection may be cut
				cfg := load.Config{Clients: clients, Window: 900 * time.Millisecond, Interval: 100 * time.Millisecond, Drain: 500 * time.Millisecond, Teardown: 3 * time.Second,
					Timeout: x.timeout, Workload: hotLoad{}, Open: func(ctx context.Context, _ int) (driver.Session, error) { return sys.Session(ctx, spec.Level{}) }}
				cfg.OnWindow = func(begin bool) {
					if begin {
						time.AfterFunc(300*time.Millisecond, func() { x.fault(proxy) })
						time.AfterFunc(600*time.Millisecond, func() { x.mend(proxy) })
					}
				}
				begin := time.Now()
				r, err := load.Run(t.Context(), cfg)
				if took := time.Since(begin); err != nil || took > 8*time.Second {
					t.Fatalf("after %v: %v", took, err)
				}
				var sum int64
				for _, o := range load.Outcomes() {
					n := r.Total(o)
					sum += n
					if o != load.OK && n > 0 && o != x.errors {
						t.Errorf("%d operations ended as %s: %+v", n, o, r.Errors)
					}
				}
				if sum != r.Attempts() || r.Total(load.OK) == 0 || x.errors != load.OK && r.Total(x.errors) == 0 {
					t.Errorf("%d attempts, %d ok, %d %s", r.Attempts(), r.Total(load.OK), r.Total(x.errors), x.errors)
				}
				if m := time.Duration(r.All().Max()); m < x.slowest {
					t.Errorf("the slowest response took %v", m)
				}
				var late int64
				for _, slot := range r.Slots {
					if slot.Index >= 8 {
						late += slot.OK
					}
				}
				if x.recovers && late == 0 {
					t.Error("nothing succeeded after the network was mended")
				}
			})
		}
	}
}
