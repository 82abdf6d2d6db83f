package load

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"sextant/interp/driver"
)

// rss is this process's resident memory in MiB, 0 where it can't be read.
func rss() float64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	f := strings.Fields(rest)
	if len(f) == 0 {
		return 0
	}
	kb, err := strconv.ParseFloat(f[0], 64)
	if err != nil {
		return 0
	}
	return kb / 1024
}

// BenchmarkThousandClients is the memory of a trial with a thousand clients whose operations take from 0.1 to 20 ms.
func BenchmarkThousandClients(b *testing.B) {
	f := &fakeServer{}
	f.do = func(ctx context.Context, s *fakeSession, n int64, _ *driver.Op, _ *driver.Reply) error {
		return s.busy(ctx, time.Duration(100+n*7919%20_000)*time.Microsecond)
	}
	cfg := config(f)
	cfg.timers, cfg.Clients, cfg.Warmup, cfg.Window, cfg.Interval, cfg.Drain = false, 1000, time.Second, 10*time.Second, time.Second, time.Second
	for b.Loop() {
		var peak float64
		cfg.OnWindow = func(bool) { peak = max(peak, rss()) }
		r, err := Run(b.Context(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(peak, "MiB-rss")
		b.ReportMetric(float64(r.Total(OK))/10, "ops/s")
	}
}

// BenchmarkLongRun offers 50,000 operations a second to a driver that does nothing for SEXTANT_BENCH_MINUTES (default 1) and
// prints the memory after the first and after the last minute.
func BenchmarkLongRun(b *testing.B) {
	minutes, err := strconv.Atoi(os.Getenv("SEXTANT_BENCH_MINUTES"))
	if err != nil || minutes < 1 {
		minutes = 1
	}
	cfg := config(&fakeServer{})
	cfg.timers, cfg.Rate, cfg.Backlog = false, even(50_000), 100_000
	cfg.Clients, cfg.Warmup, cfg.Window, cfg.Interval, cfg.Drain = 16, 10*time.Second, time.Duration(minutes)*time.Minute, time.Second, time.Second
	for b.Loop() {
		var first, last float64
		cfg.OnWindow = func(begin bool) {
			if begin {
				time.AfterFunc(50*time.Second, func() { first = rss() })
				return
			}
			last = rss()
		}
		r, err := Run(b.Context(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(first, "MiB-first")
		b.ReportMetric(last, "MiB-last")
		b.ReportMetric(float64(r.Total(OK))/cfg.Window.Seconds(), "ops/s")
	}
}
