package result

// SchemaVersion is in every file's metadata and rises when a column is added. Columns are never removed, renamed or
// retyped within a major version.
const SchemaVersion = "1.4"

// TrialRow is one row of `trials`. Pointers are null where nothing was measured.
type TrialRow struct {
	RunID          string   `parquet:"run_id" doc:"run that the trial belongs to"`
	Experiment     string   `parquet:"experiment" doc:"name of the experiment"`
	TrialID        string   `parquet:"trial_id" doc:"hash of the cell's resolved parameters and the repeat; every other table joins on it"`
	CellID         string   `parquet:"cell_id" doc:"hash of the cell's resolved parameters: equal for its repeats"`
	Repeat         int32    `parquet:"repeat" doc:"repeat of the cell, from 0"`
	Block          int32    `parquet:"block" doc:"block of trials that share one loaded dataset, from 0"`
	Round          int32    `parquet:"round" doc:"round within the block: each round has every cell of the block once, shuffled"`
	Position       int64    `parquet:"position" doc:"place in the order of the whole run, from 0"`
	Seed           int64    `parquet:"seed" doc:"seed of the trial's operation streams"`
	System         string   `parquet:"system" doc:"name of the system: its type, or the script's name="`
	Workload       string   `parquet:"workload" doc:"type of the workload"`
	LevelAsked     string   `parquet:"level_asked" doc:"consistency level that the script asked for"`
	LevelObserved  *string  `parquet:"level_observed" doc:"level in force, as the server answered on every session; null when no session was opened"`
	Clients        int32    `parquet:"clients" doc:"clients = sessions"`
	StartedAt      *int64   `parquet:"started_at,timestamp(microsecond)" doc:"start of the window, UTC; null when it did not start"`
	WindowS        *float64 `parquet:"window_s" doc:"measured span in seconds"`
	WarmupS        *float64 `parquet:"warmup_s" doc:"warm-up before it in seconds, as it was"`
	Scheduled      bool     `parquet:"scheduled" doc:"open loop: operations had due instants; false: closed loop, response time equals service time"`
	Status         string   `parquet:"status" doc:"ok, failed, or skipped"`
	Reason         *string  `parquet:"reason" doc:"why it failed or was skipped"`
	Attempts       *int64   `parquet:"attempts" doc:"operations due in the window that were sent = succeeded + failed + timed_out + not_found"`
	Succeeded      *int64   `parquet:"succeeded" doc:"operations that succeeded"`
	Failed         *int64   `parquet:"failed" doc:"operations that ended in an error other than a time-out"`
	TimedOut       *int64   `parquet:"timed_out" doc:"operations ended by a time-out, of the client or of the server, or unfinished at the end of the drain"`
	Dropped        *int64   `parquet:"dropped" doc:"operations due but never sent (open loop with a full backlog); 0 in a closed loop"`
	Retried        *int64   `parquet:"retried" doc:"attempts beyond the first of an operation"`
	NotFound       *int64   `parquet:"not_found" doc:"operations whose key was not there"`
	Throughput     *float64 `parquet:"throughput_ops_s" doc:"succeeded / window_s"`
	RateError      *float64 `parquet:"rate_rse" doc:"relative standard error of the mean rate of the window's m whole intervals, each taken as independent: (s / sqrt(m)) / mean, s with divisor m; null below two intervals"`
	Offered        *float64 `parquet:"offered_ops_s" doc:"(attempts + dropped) / window_s"`
	MinMs          *float64 `parquet:"min_ms" doc:"response time of successes: minimum"`
	MeanMs         *float64 `parquet:"mean_ms" doc:"response time of successes: mean"`
	P50Ms          *float64 `parquet:"p50_ms" doc:"response time of successes: median"`
	P90Ms          *float64 `parquet:"p90_ms" doc:"response time of successes: 90th percentile"`
	P95Ms          *float64 `parquet:"p95_ms" doc:"response time of successes: 95th percentile"`
	P99Ms          *float64 `parquet:"p99_ms" doc:"response time of successes: 99th percentile"`
	P999Ms         *float64 `parquet:"p999_ms" doc:"response time of successes: 99.9th percentile"`
	MaxMs          *float64 `parquet:"max_ms" doc:"response time of successes: maximum"`
	ServiceMeanMs  *float64 `parquet:"service_mean_ms" doc:"service time of successes: mean"`
	ServiceP50Ms   *float64 `parquet:"service_p50_ms" doc:"service time of successes: median"`
	ServiceP90Ms   *float64 `parquet:"service_p90_ms" doc:"service time of successes: 90th percentile"`
	ServiceP95Ms   *float64 `parquet:"service_p95_ms" doc:"service time of successes: 95th percentile"`
	ServiceP99Ms   *float64 `parquet:"service_p99_ms" doc:"service time of successes: 99th percentile"`
	ServiceP999Ms  *float64 `parquet:"service_p999_ms" doc:"service time of successes: 99.9th percentile"`
	ServiceMaxMs   *float64 `parquet:"service_max_ms" doc:"service time of successes: maximum"`
	Clipped        *int64   `parquet:"clipped" doc:"successes whose time was above the histogram's range (2.4 hours) and is counted at its end"`
	RowsBefore     *int64   `parquet:"rows_before" doc:"rows in the dataset's tables before the trial, counted"`
	RowsAfter      *int64   `parquet:"rows_after" doc:"rows in the dataset's tables after the trial, counted"`
	ClientCPUPct   *float64 `parquet:"client_cpu_pct" doc:"CPU of sextant over the window, per cent of one core"`
	ClientRSS      *int64   `parquet:"client_rss_bytes" doc:"resident memory of sextant at the end of the window"`
	ServerCPUPct   *float64 `parquet:"server_cpu_pct" doc:"CPU of the server's processes over the window, per cent of one core; null when they can't be seen"`
	ServerRSS      *int64   `parquet:"server_rss_bytes" doc:"resident memory of the server's processes at the end of the window; shared pages count once per process"`
	InFlight       *float64 `parquet:"in_flight" doc:"mean number of operations in flight over the window, whenever they were due; by Little's law throughput x service time when nothing crosses the window's ends"`
	BusyPct        *float64 `parquet:"busy_pct" doc:"share of the window that clients spent in operations (in batches, with a pipeline): 100 in_flight / clients without one; in a closed loop without think time the rest is the generator's own time"`
	LagPct         *float64 `parquet:"lag_pct" doc:"share of the clients' time in operations in which a reply had come and waited for the generator, which was busy with those that had come with it; about as much again is waited unseen. 0 where each client has a thread's attention of its own"`
	BacklogEnd     *int64   `parquet:"backlog_end" doc:"open loop: operations due and not sent at the end of the window"`
	LateP99Ms      *float64 `parquet:"late_p99_ms" doc:"open loop: 99th percentile of how late operations were sent whose client was waiting for their due instant"`
	GCPauseMs      *float64 `parquet:"gc_pause_ms" doc:"pauses of sextant's garbage collector in the window, sum"`
	VerifiedWrites *int64   `parquet:"verified_writes" doc:"last acknowledged writes to fields, inserts and deletes of a sample of rows that were compared after the trial, those of the warm-up included; null without verify"`
	LostWrites     *int64   `parquet:"lost_writes" doc:"of verified_writes, those that are not there: the field holds something else, the row is gone, or a deleted one is there; null without verify"`
	ScriptS        *float64 `parquet:"script_s" doc:"time that all clients spent in the interpreter of scripted transactions within the window, apart from waiting for the server; null where operations are no script"`
	ClientBound    *bool    `parquet:"client_bound" doc:"flag: the generator, not the server, was a limit"`
	Overloaded     *bool    `parquet:"overloaded" doc:"flag: open loop, the backlog grew or operations were dropped"`
	Throttled      *bool    `parquet:"throttled" doc:"flag: the CPU limit of sextant's control group held it back in the window"`
	Unsteady       *bool    `parquet:"unsteady" doc:"flag: the rate of the intervals has a trend (Mann-Kendall p < 0.01, over 10 % of the median)"`
	ClockJump      *bool    `parquet:"clock_jump" doc:"flag: the wall clock moved against the monotonic one by more than 100 ms"`
	ErrorsHigh     *bool    `parquet:"errors_high" doc:"flag: more than 1 % of the attempts did not succeed"`
}

// OperationRow is one row of `operations`: trial x operation type x outcome.
type OperationRow struct {
	TrialID   string   `parquet:"trial_id" doc:"trial"`
	Operation string   `parquet:"operation" doc:"operation type; connect and prepare are the steps of getting a session"`
	Phase     string   `parquet:"phase" doc:"window: due in the window, adds up to the trial's counts; session: getting sessions, before and during it"`
	Outcome   string   `parquet:"outcome" doc:"ok, not_found, or the class of the error"`
	Count     int64    `parquet:"count" doc:"operations"`
	Rate      *float64 `parquet:"rate_ops_s" doc:"count / window_s; null for phase session"`
	MinMs     *float64 `parquet:"min_ms" doc:"response time of this outcome: minimum"`
	MeanMs    *float64 `parquet:"mean_ms" doc:"response time of this outcome: mean"`
	P50Ms     *float64 `parquet:"p50_ms" doc:"response time of this outcome: median"`
	P90Ms     *float64 `parquet:"p90_ms" doc:"response time of this outcome: 90th percentile"`
	P95Ms     *float64 `parquet:"p95_ms" doc:"response time of this outcome: 95th percentile"`
	P99Ms     *float64 `parquet:"p99_ms" doc:"response time of this outcome: 99th percentile"`
	P999Ms    *float64 `parquet:"p999_ms" doc:"response time of this outcome: 99.9th percentile"`
	MaxMs     *float64 `parquet:"max_ms" doc:"response time of this outcome: maximum"`
}

// IntervalRow is one row of `intervals`: trial x operation type x interval.
type IntervalRow struct {
	TrialID   string   `parquet:"trial_id" doc:"trial"`
	Operation string   `parquet:"operation" doc:"operation type"`
	Phase     string   `parquet:"phase" doc:"window, or warmup: rows before the window, in no other figure"`
	Interval  int32    `parquet:"interval" doc:"number of the interval, 0 at the start of the window, negative in the warm-up"`
	StartS    float64  `parquet:"start_s" doc:"start, seconds since the start of the window"`
	DurationS float64  `parquet:"duration_s" doc:"length in seconds; the first of the warm-up and the last of the window may be shorter"`
	Count     int64    `parquet:"count" doc:"operations due in the interval that succeeded; adds up to succeeded"`
	Errors    int64    `parquet:"errors" doc:"operations due in the interval that failed or timed out"`
	NotFound  int64    `parquet:"not_found" doc:"operations due in the interval whose key was not there"`
	Rate      float64  `parquet:"rate_ops_s" doc:"count / duration_s"`
	MinMs     *float64 `parquet:"min_ms" doc:"response time of successes: minimum"`
	MeanMs    *float64 `parquet:"mean_ms" doc:"response time of successes: mean"`
	P50Ms     *float64 `parquet:"p50_ms" doc:"response time of successes: median"`
	P95Ms     *float64 `parquet:"p95_ms" doc:"response time of successes: 95th percentile"`
	P99Ms     *float64 `parquet:"p99_ms" doc:"response time of successes: 99th percentile"`
	MaxMs     *float64 `parquet:"max_ms" doc:"response time of successes: maximum"`
	Dropped   *int64   `parquet:"dropped" doc:"open loop: operations due in the interval that were never sent; of the whole trial, the same in the rows of every operation type"`
	Backlog   *int64   `parquet:"backlog" doc:"open loop: operations due and not sent at the end of the interval; of the whole trial, the same in the rows of every operation type"`
}

// LatencyRow is one row of `latencies`: trial x operation type x kind x histogram bucket.
type LatencyRow struct {
	TrialID   string  `parquet:"trial_id" doc:"trial"`
	Operation string  `parquet:"operation" doc:"operation type"`
	Kind      string  `parquet:"kind" doc:"response (due to done), or service (sent to done); a closed loop has response only, the two are equal"`
	LowerMs   float64 `parquet:"lower_ms" doc:"smallest time in the bucket"`
	UpperMs   float64 `parquet:"upper_ms" doc:"largest time in the bucket; buckets are the same in every run, so counts of equal upper_ms add up exactly"`
	Count     int64   `parquet:"count" doc:"successes in the bucket"`
}

// ErrorRow is one row of `errors`: trial x class x code.
type ErrorRow struct {
	TrialID string  `parquet:"trial_id" doc:"trial"`
	Class   string  `parquet:"class" doc:"class of the error, alike over all systems"`
	Code    string  `parquet:"code" doc:"the system's own code; empty when it gave none"`
	Count   int64   `parquet:"count" doc:"operations due in the window that ended in this error"`
	Retried int64   `parquet:"retried" doc:"attempts that ended in this error and were followed by another one; not in count"`
	FirstS  float64 `parquet:"first_s" doc:"due instant of the first, seconds since the start of the window"`
	LastS   float64 `parquet:"last_s" doc:"due instant of the last"`
	Sample  string  `parquet:"sample" doc:"message of the first, without secrets"`
}

// ResourceRow is one row of `resources`: trial x second x process.
type ResourceRow struct {
	TrialID  string   `parquet:"trial_id" doc:"trial"`
	Second   int32    `parquet:"second" doc:"seconds since the start of the window at the end of the sample; negative in the warm-up"`
	Process  string   `parquet:"process" doc:"sextant, server (all processes of the server together), or host"`
	Count    int32    `parquet:"processes" doc:"processes that were added up"`
	CPUPct   *float64 `parquet:"cpu_pct" doc:"CPU over the second, per cent of one core"`
	RSS      *int64   `parquet:"rss_bytes" doc:"resident memory; pages shared by processes count once per process; host: memory in use"`
	Read     *int64   `parquet:"read_bytes" doc:"bytes read from disks in the second; null where it can't be seen"`
	Write    *int64   `parquet:"write_bytes" doc:"bytes written to disks in the second"`
	Received *int64   `parquet:"received_bytes" doc:"host: bytes received by network interfaces, loopback included"`
	Sent     *int64   `parquet:"sent_bytes" doc:"host: bytes sent"`
	Switches *int64   `parquet:"context_switches" doc:"context switches in the second"`
}

// CounterRow is one row of `server_counters`: trial x counter.
type CounterRow struct {
	TrialID string  `parquet:"trial_id" doc:"trial"`
	Counter string  `parquet:"counter" doc:"name of the counter, with the view that it comes from"`
	Before  float64 `parquet:"before" doc:"value before the sessions were opened"`
	After   float64 `parquet:"after" doc:"value after they were closed: warm-up and drain are in it"`
}

// EventRow is one row of `events`.
type EventRow struct {
	RunID   string  `parquet:"run_id" doc:"run"`
	TrialID *string `parquet:"trial_id" doc:"trial, when it belongs to one"`
	At      int64   `parquet:"at,timestamp(microsecond)" doc:"when, UTC"`
	Kind    string  `parquet:"kind" doc:"what: start, resume, dataset, reset, restart, wait, hook, warning, changed, interrupted"`
	Text    string  `parquet:"text" doc:"one sentence"`
}

// MeasurementRow is one row of `measurements`: what a hook recorded by ctx.record.
type MeasurementRow struct {
	RunID   string   `parquet:"run_id" doc:"run"`
	TrialID *string  `parquet:"trial_id" doc:"trial; null for setup and teardown"`
	Hook    string   `parquet:"hook" doc:"hook that recorded it"`
	Name    string   `parquet:"name" doc:"name that the script gave"`
	Value   *float64 `parquet:"value" doc:"number recorded"`
	Text    *string  `parquet:"text" doc:"text recorded"`
}

// EnvironmentRow is one row of `environment`: a fact, as it was when the run was started or resumed.
type EnvironmentRow struct {
	RunID  string `parquet:"run_id" doc:"run"`
	Start  int32  `parquet:"start" doc:"0 for the first start of the run, 1 for its first resume, ..."`
	System string `parquet:"system" doc:"system that the fact belongs to; empty for host, product and script"`
	Key    string `parquet:"key" doc:"name of the fact"`
	Value  string `parquet:"value" doc:"its value"`
}

// SummaryRow is one row of `summary`: cell x metric, over the cell's ok trials.
type SummaryRow struct {
	RunID      string   `parquet:"run_id" doc:"run"`
	Experiment string   `parquet:"experiment" doc:"name of the experiment"`
	CellID     string   `parquet:"cell_id" doc:"cell"`
	Metric     string   `parquet:"metric" doc:"column of trials"`
	N          int32    `parquet:"n" doc:"ok trials of the cell with a value"`
	Failed     int32    `parquet:"n_failed" doc:"failed and skipped trials of the cell, left out"`
	Mean       *float64 `parquet:"mean" doc:"mean over the trials"`
	SD         *float64 `parquet:"sd" doc:"standard deviation (n-1); null when n < 2"`
	CVPct      *float64 `parquet:"cv_pct" doc:"100 sd / mean; null when n < 2 or the mean is 0"`
	Lo         *float64 `parquet:"ci_low" doc:"95 % t interval of the mean, lower end; null when n < 2"`
	Hi         *float64 `parquet:"ci_high" doc:"95 % t interval of the mean, upper end; null when n < 2"`
	Median     *float64 `parquet:"median" doc:"median over the trials"`
	Min        *float64 `parquet:"min" doc:"smallest"`
	Max        *float64 `parquet:"max" doc:"largest"`
	Merged     *float64 `parquet:"merged" doc:"for a percentile: that of all the cell's ok trials together, from their merged histograms; null for other metrics"`
	Stability  *string  `parquet:"stability" doc:"HIGH: CV < 15 %, MEDIUM: < 30 %, LOW: from 30 % on; provisional when n < 10; null when n < 2"`
}
