package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"sextant/interp/driver"
	"sextant/interp/driver/sandbox"
	"sextant/interp/spec"
)

// A standby is a server that replays the primary's log and answers queries meanwhile.
type standby struct {
	cfg *pgconn.Config
	// of a throwaway one:
	data string
	proc *sandbox.Server
}

// synchronous reads "any 1" and "first 2".
func synchronous(v any) (how string, n int64, err error) {
	how, number, _ := strings.Cut(fmt.Sprint(v), " ")
	n, err = strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || how != "any" && how != "first" {
		return "", 0, fmt.Errorf(`must be "any N" (a commit waits for any N standbys) or "first N" (for the first N), not %s`, spec.Display(v))
	}
	return how, n, nil
}

func checkSynchronous(v any) error {
	if v == nil {
		return nil
	}
	_, _, err := synchronous(v)
	return err
}

// checkStandbys refuses more synchronous standbys than there are.
func checkStandbys(o map[string]any) error {
	have, _ := o["standbys"].(int64)
	if o["synchronous"] == nil {
		return nil
	}
	if _, want, err := synchronous(o["synchronous"]); err != nil || want > have {
		return &spec.ParamError{Param: "synchronous", Msg: fmt.Sprintf("is %s with %d standbys", spec.Display(o["synchronous"]), have)}
	}
	return nil
}

// addStandbys makes n standbys of the primary, which runs, and waits until they stream; then some of them become synchronous, when wait says so.
func (c *cluster) addStandbys(ctx context.Context, s *system, n int, wait any) error {
	var names []string
	for i := range n {
		name := fmt.Sprintf("standby%d", i+1)
		b := &standby{data: c.box.Path(name), cfg: s.cfg.Copy()}
		port, err := sandbox.FreePort()
		if err != nil {
			return err
		}
		b.cfg.Port = uint16(port)
		b.cfg.Fallbacks = nil
		if err := errors.Join(os.Mkdir(b.data, 0o700), c.account.Give(b.data)); err != nil {
			return fmt.Errorf("making %s: %w", name, err)
		}
		dsn := fmt.Sprintf("host=127.0.0.1 port=%d user=sextant sslmode=disable application_name=%s", s.cfg.Port, name)
		backup := c.box.Command(ctx, c.account, filepath.Join(c.bin, "pg_basebackup"), "-d", dsn, "-D", b.data, "-X", "stream", "-c", "fast", "-R", "--no-sync")
		backup.Env = append(backup.Env, "PGPASSWORD="+s.cfg.Password)
		if out, err := backup.CombinedOutput(); err != nil {
			return fmt.Errorf("making %s: pg_basebackup: %w: %s", name, err, sandbox.LastLines(string(out), 3))
		}
		c.standbys = append(c.standbys, b)
		s.standbys = append(s.standbys, b)
		if err := c.startStandby(b); err != nil {
			return err
		}
		names = append(names, name)
	}
	if err := c.awaitStandbys(ctx, s, "state = 'streaming'", n); err != nil {
		return err
	}
	if wait == nil {
		return nil
	}
	how, want, err := synchronous(wait)
	if err != nil {
		return err
	}
	for _, st := range []string{fmt.Sprintf("ALTER SYSTEM SET synchronous_standby_names = '%s %d (%s)'", strings.ToUpper(how), want, strings.Join(names, ", ")), "SELECT pg_reload_conf()"} {
		if _, err := s.Exec(ctx, st, nil); err != nil {
			return fmt.Errorf("making the standbys synchronous: %w", err)
		}
	}
	if how == "any" { // all of them are candidates
		want = int64(n)
	}
	return c.awaitStandbys(ctx, s, "sync_state IN ('sync', 'quorum')", int(want))
}

func (c *cluster) startStandby(b *standby) (err error) {
	args := []string{"-D", b.data, "-c", fmt.Sprintf("port=%d", b.cfg.Port), "-c", "wal_retrieve_retry_interval=200ms"}
	if c.major >= 14 { // else it syncs every file first
		args = append(args, "-c", "recovery_init_sync_method=syncfs")
	}
	b.proc, err = c.box.Start(c.box.Command(context.Background(), c.account, filepath.Join(c.bin, "postgres"), args...), filepath.Base(b.data)+".log")
	return err
}

// awaitStandbys waits until the primary sees a number of standbys as the condition says.
func (c *cluster) awaitStandbys(ctx context.Context, s *system, condition string, want int) error {
	procs := []*sandbox.Server{c.server}
	for _, b := range c.standbys {
		procs = append(procs, b.proc)
	}
	return sandbox.Startup{Servers: procs, Name: func(i int) string {
		if i == 0 {
			return "the throwaway PostgreSQL"
		}
		return fmt.Sprintf("its standby %d", i)
	}, Pending: "the standbys of the throwaway PostgreSQL don't join", Every: 30 * time.Millisecond, Ask: func() error {
		_, rows, err := s.Query(ctx, "SELECT count(*) FROM pg_stat_replication WHERE "+condition, nil)
		if err == nil && rows[0][0] != int64(want) {
			err = fmt.Errorf("%v of %d standbys are there", rows[0][0], want)
		}
		return err
	}}.Await(ctx)
}

// split is a session whose reads go to a standby.
type split struct {
	*session          // of everything that writes
	reader   *session // of reads and scans
	actions  []driver.Action
}

// openReader connects to the next standby and waits until it has what the primary had when the session began.
func (s *system) openReader(ctx context.Context, primary *session, level spec.Level) (*split, error) {
	if len(s.standbys) == 0 {
		return nil, &driver.LevelRefused{Level: level, Reason: "no standby is known"}
	}
	b := s.standbys[s.next.Add(1)%uint64(len(s.standbys))]
	c, err := connect(ctx, b.cfg, level)
	if err != nil {
		return nil, fmt.Errorf("on the standby: %w", err)
	}
	fail := func(err error) (*split, error) { return nil, errors.Join(err, c.Close(ctx)) }
	rows, err := texts(ctx, c, "SELECT pg_is_in_recovery()::text")
	if err != nil {
		return fail(wrap(err))
	}
	if rows[0][0] != "true" {
		return fail(&driver.LevelRefused{Level: level, Reason: fmt.Sprintf("the server at %s:%d is no standby (any more)", b.cfg.Host, b.cfg.Port)})
	}
	if rows, err = texts(ctx, primary.c, "SELECT pg_current_wal_lsn()::text"); err != nil {
		return fail(wrap(err))
	}
	for {
		got, err := texts(ctx, c, "SELECT (pg_last_wal_replay_lsn() >= $1::pg_lsn)::text", rows[0][0])
		if err != nil {
			return fail(fmt.Errorf("waiting for the standby to replay what is there: %w", wrap(err)))
		}
		if got[0][0] == "true" {
			return &split{session: primary, reader: newSession(c)}, nil
		}
		if _, err := texts(ctx, c, "SELECT pg_sleep(0.005)"); err != nil {
			return fail(wrap(err))
		}
	}
}

// Level is that of the writes; where reads go is asked of the server that does them.
func (s *split) Level(ctx context.Context, asked spec.Level) (string, error) {
	got, err := s.session.level(ctx, asked)
	if err != nil {
		return "", err
	}
	read, err := s.reader.level(ctx, spec.Level{Settings: []spec.Setting{{Name: "read", Value: "standby"}}})
	if err != nil {
		return "", err
	}
	for i := range got.Settings {
		if got.Settings[i].Name == "read" {
			got.Settings[i].Value = read.Get("read")
		}
	}
	return got.String(), nil
}

func (s *split) Prepare(ctx context.Context, w *driver.Workload) error {
	for _, o := range w.All() {
		if o.Action == driver.Transaction {
			return &driver.Error{Class: driver.Other, Err: fmt.Errorf("the level read=standby is for operations on records: %s is statements of its own", o.Name)}
		}
		s.actions = append(s.actions, o.Action)
	}
	return errors.Join(s.session.Prepare(ctx, w), s.reader.Prepare(ctx, w))
}

func (s *split) Do(ctx context.Context, op *driver.Op, reply *driver.Reply) error {
	if a := s.actions[op.Type]; a == driver.Read || a == driver.Scan {
		return s.reader.Do(ctx, op, reply)
	}
	return s.session.Do(ctx, op, reply)
}

func (s *split) Interrupt() {
	s.reader.Interrupt()
	s.session.Interrupt()
}

func (s *split) Close() error { return errors.Join(s.reader.Close(), s.session.Close()) }

// replication are the standbys as the primary sees them: how far each is behind, in bytes and seconds.
func (s *system) replication(ctx context.Context) ([]driver.Counter, error) {
	_, rows, err := s.Query(ctx, `SELECT coalesce(nullif(application_name, ''), pid::text), coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn), 0)::float8,
		coalesce(extract(epoch FROM write_lag), 0)::float8, coalesce(extract(epoch FROM flush_lag), 0)::float8, coalesce(extract(epoch FROM replay_lag), 0)::float8
		FROM pg_stat_replication WHERE NOT pg_is_in_recovery() ORDER BY 1`, nil)
	if err != nil {
		return nil, err
	}
	var out []driver.Counter
	for _, r := range rows {
		for i, name := range []string{"replay_behind_bytes", "write_lag_s", "flush_lag_s", "replay_lag_s"} {
			v, _ := r[i+1].(float64)
			out = append(out, driver.Counter{Name: fmt.Sprintf("pg_stat_replication.%v.%s", r[0], name), Value: v})
		}
	}
	return out, nil
}

// readable refuses reads from a standby that there are none of, or that can't give the isolation.
func (s *system) readable(l spec.Level) error {
	switch {
	case l.Get("read") != "standby":
		return nil
	case len(s.standbys) == 0:
		return &driver.LevelRefused{Level: l, Reason: "no standby is known: name one by standby="}
	case l.Get("isolation") == "serializable":
		return &driver.LevelRefused{Level: l, Reason: "a standby has no serializable transactions"}
	}
	return nil
}

// standbyFacts notes the standbys for the environment.
func (s *system) standbyFacts(ctx context.Context) ([]driver.Fact, error) {
	_, rows, err := s.Query(ctx, "SELECT coalesce(nullif(application_name, ''), pid::text) || ' ' || state || ' ' || sync_state FROM pg_stat_replication", nil)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range rows {
		out = append(out, fmt.Sprint(r[0]))
	}
	slices.Sort(out)
	if out == nil {
		return nil, nil
	}
	return []driver.Fact{{Key: "standbys", Value: strings.Join(out, "; ")}}, nil
}
