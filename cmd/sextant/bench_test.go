package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"sextant/interp/lang"
	"sextant/interp/result"
	engine "sextant/interp/run"
	"sextant/interp/spec"
)

// firstTrial is an observer that stops the run when its first trial begins.
type firstTrial struct {
	stop context.CancelCauseFunc
	at   time.Time
}

func (f *firstTrial) Begin(string, *engine.Plan, int) {}
func (f *firstTrial) Trial(int, engine.Step, *spec.Measure) {
	f.at = time.Now()
	f.stop(errInterrupted)
}
func (f *firstTrial) Done(int, engine.Step, *result.TrialRow) {}
func (f *firstTrial) Note(string, string)                     {}

// until starts or resumes a run up to its first trial and gives the instant at which that began.
func until(b *testing.B, go_ func(context.Context, engine.Observer) (*engine.Report, error)) (*engine.Report, time.Time) {
	b.Helper()
	ctx, cancel := context.WithCancelCause(b.Context())
	obs := &firstTrial{stop: cancel}
	rep, err := go_(ctx, obs)
	if !errors.Is(err, errInterrupted) || rep == nil {
		b.Fatalf("the run was not stopped at its first trial: %v", err)
	}
	return rep, obs.at
}

// BenchmarkHundredThousandTrials writes a run of 10^5 trials (with 40 rows each in the other tables), resumes it up to
// its first new trial, and seals it. It prints seconds and the peak of the heap, which should not grow with the run.
func BenchmarkHundredThousandTrials(b *testing.B) {
	dir := b.TempDir()
	b.Setenv("SEXTANT_TMPDIR", b.TempDir())
	file := filepath.Join(dir, "x.star")
	src := `experiment("big", system = sqlite.local(), workload = lambda p: workload.ycsb("a", records = 10 + p.scale), measure = "1s", repeats = 1000,
    sweep = grid(scale = list(range(100))))`
	if err := os.WriteFile(file, []byte(src), 0o644); err != nil {
		b.Fatal(err)
	}
	e := &env{lookup: os.LookupEnv, stdout: os.Stdout, stderr: os.Stderr}
	for b.Loop() {
		p, plan := evalBig(b, e, file)
		rep, _ := until(b, func(ctx context.Context, obs engine.Observer) (*engine.Report, error) {
			return engine.Start(ctx, e.options(filepath.Join(dir, "r"), false, obs), p, plan, "")
		})
		begin := time.Now()
		peak := writeTrials(b, rep.Dir, plan)
		b.ReportMetric(time.Since(begin).Seconds(), "s-write")
		b.ReportMetric(float64(peak)/(1<<20), "MiB-heap-write")
		begin = time.Now()
		p, plan = evalBig(b, e, filepath.Join(rep.Dir, "script", "x.star"))
		m, err := engine.ReadManifest(rep.Dir)
		if err != nil {
			b.Fatal(err)
		}
		_, at := until(b, func(ctx context.Context, obs engine.Observer) (*engine.Report, error) {
			return engine.Resume(ctx, e.options("", false, obs), p, plan, rep.Dir, m)
		})
		b.ReportMetric(at.Sub(begin).Seconds(), "s-resume")
		begin = time.Now()
		sealBig(b, rep.Dir, m)
		b.ReportMetric(time.Since(begin).Seconds(), "s-seal")
		for _, x := range [][]string{{"show", rep.Dir}, {"compare", rep.Dir, "--by", "scale", "--baseline", "0"}, {"report", rep.Dir}} {
			begin = time.Now()
			var used runtime.MemStats
			if code := run(b.Context(), &env{args: x, lookup: os.LookupEnv, stdout: io.Discard, stderr: os.Stderr}); code != exitFine {
				b.Fatal(x, code)
			}
			runtime.ReadMemStats(&used)
			b.ReportMetric(time.Since(begin).Seconds(), "s-"+x[0])
			b.ReportMetric(float64(used.HeapSys)/(1<<20), "MiB-heap-"+x[0]) // what was ever asked of the system
		}
		if keep := os.Getenv("SEXTANT_BENCH_KEEP"); keep != "" {
			if err := os.Rename(rep.Dir, keep); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func evalBig(b *testing.B, e *env, file string) (*lang.Program, *engine.Plan) {
	b.Helper()
	p, err := e.eval(b.Context(), file, e.lookup)
	if err != nil {
		b.Fatal(err)
	}
	plan, err := planOf(p.Experiments[0], "")
	if err != nil {
		b.Fatal(err)
	}
	return p, plan
}

func p[T any](v T) *T { return &v }

// writeTrials commits rows for every trial of the plan but the last, as a run does, and gives the largest heap seen.
func writeTrials(b *testing.B, dir string, plan *engine.Plan) (peak uint64) {
	b.Helper()
	m, err := engine.ReadManifest(dir)
	if err != nil {
		b.Fatal(err)
	}
	schema, err := m.Schema()
	if err != nil {
		b.Fatal(err)
	}
	sink, _, err := result.Recover(dir, schema, result.Meta{RunID: m.RunID, PlanHash: m.PlanHash})
	if err != nil {
		b.Fatal(err)
	}
	journal, _, err := engine.OpenJournal(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	for i, s := range plan.Steps[:len(plan.Steps)-1] {
		t, err := plan.Trial(s)
		if err != nil {
			b.Fatal(err)
		}
		row := result.TrialRow{RunID: m.RunID, Experiment: m.Experiment, TrialID: t.ID, CellID: t.CellID, Repeat: s.Repeat, Position: int64(i), Status: "ok",
			Succeeded: p(int64(1000)), Attempts: p(int64(1000)), Throughput: p(1000.0 + float64(i%17)), MinMs: p(0.1), P50Ms: p(0.5), P95Ms: p(0.9), P99Ms: p(1.5), MaxMs: p(2.0)}
		err = sink.AppendCell("trials", row, plan.Experiment.Cells[s.Cell].Values)
		for k := range 20 {
			err = errors.Join(err, sink.Append("latencies", result.LatencyRow{TrialID: t.ID, Operation: "read", Kind: "response", LowerMs: float64(k) / 10, UpperMs: float64(k)/10 + 0.1, Count: 50}))
		}
		for k := range 100 {
			err = errors.Join(err, sink.Append("intervals", result.IntervalRow{TrialID: t.ID, Operation: "read", Phase: "window", Interval: int32(k), StartS: float64(k) / 100, DurationS: 0.01, Count: 10, Rate: 1000}))
		}
		err = errors.Join(err, sink.Commit(t.ID), journal.Add(engine.Entry{At: time.Now(), Event: "trial", Trial: t.ID, Status: "ok"}))
		if err == nil && sink.Due() {
			err = sink.Flush()
		}
		if err != nil {
			b.Fatal(err)
		}
		if i%5000 == 0 {
			var ms runtime.MemStats
			runtime.ReadMemStats(&ms)
			peak = max(peak, ms.HeapAlloc)
		}
	}
	if err := errors.Join(sink.Close(), journal.Close()); err != nil {
		b.Fatal(err)
	}
	return peak
}

func sealBig(b *testing.B, dir string, m *engine.Manifest) {
	b.Helper()
	schema, err := m.Schema()
	if err != nil {
		b.Fatal(err)
	}
	sink, trials, err := result.Recover(dir, schema, result.Meta{RunID: m.RunID, PlanHash: m.PlanHash})
	if err != nil {
		b.Fatal(err)
	}
	if len(trials) != 99_999 {
		b.Fatal(fmt.Errorf("%d trials", len(trials)))
	}
	if err := errors.Join(sink.Seal(), sink.Close()); err != nil {
		b.Fatal(err)
	}
}
