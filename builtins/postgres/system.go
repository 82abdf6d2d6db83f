package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// system is an opened server.
type system struct {
	cfg   *pgconn.Config
	log   func(kind, text string)
	local *cluster // of local(); nil for a server that existed
	// standbys are those that reads can go to, next which one the next session takes.
	standbys []*standby
	next     atomic.Uint64
	pooled   bool // a pooler such as pgbouncer stands between

	mu    sync.Mutex
	admin *pgconn.PgConn // of datasets, facts and hooks; nil until needed
}

func newSystem(cfg *pgconn.Config, log func(kind, text string)) *system {
	cfg.RuntimeParams["application_name"] = "sextant"
	return &system{cfg: cfg, log: log}
}

// connect opens one connection, without retries.
func (s *system) connect(ctx context.Context) (*pgconn.PgConn, error) {
	return connect(ctx, s.cfg, spec.Level{})
}

// connect opens one connection and sets a level on it.
func connect(ctx context.Context, cfg *pgconn.Config, level spec.Level) (*pgconn.PgConn, error) {
	dialled := cfg.Copy()
	dialled.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return driver.Streamed(cfg.DialFunc(ctx, network, addr))
	}
	c, err := pgconn.ConnectConfig(ctx, dialled)
	if err != nil {
		return nil, connectError(cfg, err)
	}
	if sql := levelSQL(level); sql != "" {
		if _, err := c.Exec(ctx, sql).ReadAll(); err != nil {
			return nil, errors.Join(fmt.Errorf("setting the level %s: %w", level, wrap(err)), c.Close(ctx))
		}
	}
	return c, nil
}

// with runs fn on the administrative connection.
func (s *system) with(ctx context.Context, fn func(*pgconn.PgConn) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.admin == nil || s.admin.IsClosed() || s.admin.CheckConn() != nil { // the server may have ended it meanwhile
		c, err := s.connect(ctx)
		if err != nil {
			return err
		}
		s.admin = c
	}
	err := fn(s.admin)
	var de *driver.Error
	if err == nil || errors.As(err, &de) {
		return err
	}
	return wrap(err)
}

// greet looks whether the server is one that can be measured.
func (s *system) greet(ctx context.Context) error {
	return s.with(ctx, func(c *pgconn.PgConn) error {
		rows, err := texts(ctx, c, "SELECT current_setting('server_version_num'), current_setting('server_version'), pg_backend_pid()::text")
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(rows[0][0])
		if err != nil {
			return fmt.Errorf("the server's version is %q", rows[0][0])
		}
		if n/10000 < oldest {
			return &driver.Error{Class: driver.Unavailable, Err: fmt.Errorf("the server is PostgreSQL %s", rows[0][1]),
				Hint: fmt.Sprintf("sextant measures version %d and later", oldest)}
		}
		pooled := rows[0][2] != strconv.FormatUint(uint64(c.PID()), 10) // the process that the connection named is not the one that answers
		if pooled && !s.pooled {
			s.log("warning", "a pooler such as pgbouncer stands between sextant and PostgreSQL: it is measured too, and unless it pools whole sessions, settings of a level and prepared statements can get to other sessions")
		}
		s.pooled = pooled
		return nil
	})
}

// texts runs a query and gives its rows as text, NULL as "".
func texts(ctx context.Context, c *pgconn.PgConn, sql string, args ...string) ([][]string, error) {
	params := make([][]byte, len(args))
	for i, a := range args {
		params[i] = []byte(a)
	}
	r := c.ExecParams(ctx, sql, params, nil, nil, nil).Read()
	if r.Err != nil {
		return nil, r.Err
	}
	var out [][]string
	for _, row := range r.Rows {
		line := make([]string, len(row))
		for i, v := range row {
			line[i] = string(v)
		}
		out = append(out, line)
	}
	return out, nil
}

// facts are the settings that change what is measured.
const factSettings = `'fsync','synchronous_commit','full_page_writes','wal_level','wal_sync_method','wal_compression','wal_buffers','shared_buffers',
'effective_cache_size','work_mem','maintenance_work_mem','max_connections','checkpoint_timeout','max_wal_size','min_wal_size','commit_delay',
'synchronous_standby_names','default_transaction_isolation','huge_pages','jit','autovacuum','data_checksums','server_encoding','lc_collate',
'random_page_cost','effective_io_concurrency','max_worker_processes','bgwriter_delay','track_io_timing','ssl'`

func (s *system) Facts(ctx context.Context) (facts []driver.Fact, err error) {
	err = s.with(ctx, func(c *pgconn.PgConn) error {
		rows, err := texts(ctx, c, "SELECT current_setting('server_version'), version(), pg_is_in_recovery()::text")
		if err != nil {
			return err
		}
		facts = append(facts, driver.Fact{Key: "server_version", Value: rows[0][0]}, driver.Fact{Key: "server_build", Value: rows[0][1]},
			driver.Fact{Key: "in_recovery", Value: rows[0][2]})
		if rows, err = texts(ctx, c, "SELECT name, current_setting(name) FROM pg_settings WHERE name IN ("+factSettings+") ORDER BY name"); err != nil {
			return err
		}
		for _, r := range rows {
			facts = append(facts, driver.Fact{Key: "server_setting." + r[0], Value: r[1]})
		}
		tls := "no"
		if s.cfg.TLSConfig != nil {
			tls = "asked for"
		}
		if rows, err = texts(ctx, c, "SELECT CASE WHEN ssl THEN version ELSE 'no' END FROM pg_stat_ssl WHERE pid = pg_backend_pid()"); err == nil && len(rows) == 1 {
			tls = rows[0][0]
		}
		facts = append(facts, driver.Fact{Key: "tls", Value: tls}, driver.Fact{Key: "address", Value: fmt.Sprintf("%s:%d", s.cfg.Host, s.cfg.Port)},
			driver.Fact{Key: "pooler", Value: map[bool]string{true: "yes", false: "no"}[s.pooled]})
		return nil
	})
	more, errMore := s.standbyFacts(ctx)
	if err = errors.Join(err, errMore); err != nil {
		return nil, fmt.Errorf("reading the server's settings: %w", err)
	}
	return append(facts, more...), nil
}

// CheckLevel refuses what no synchronous standby is there for.
func (s *system) CheckLevel(ctx context.Context, l spec.Level) error {
	if err := s.readable(l); err != nil {
		return err
	}
	sc := l.Get("synchronous_commit")
	if sc != "remote_write" && sc != "remote_apply" && sc != "on" {
		return nil
	}
	var names, standbys string
	err := s.with(ctx, func(c *pgconn.PgConn) error {
		rows, err := texts(ctx, c, "SELECT current_setting('synchronous_standby_names'), (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum'))::text")
		if err == nil {
			names, standbys = rows[0][0], rows[0][1]
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case sc == "on" && names == "":
		return nil
	case names == "":
		return &driver.LevelRefused{Level: l, Reason: fmt.Sprintf("the server has no synchronous standby, so %s would measure the same as on", sc)}
	case standbys == "0":
		return &driver.LevelRefused{Level: l, Reason: fmt.Sprintf("no standby named by synchronous_standby_names = %q is connected: every commit would wait for ever", names)}
	}
	return nil
}

// levelSQL are the statements that set a level.
func levelSQL(l spec.Level) string {
	var b strings.Builder
	if v := l.Get("synchronous_commit"); v != "" {
		fmt.Fprintf(&b, "SET synchronous_commit TO %s;", v)
	}
	if v := l.Get("isolation"); v != "" {
		fmt.Fprintf(&b, "SET default_transaction_isolation TO '%s';", v)
	}
	return b.String()
}

func (s *system) Session(ctx context.Context, level spec.Level) (driver.Session, error) {
	c, err := connect(ctx, s.cfg, level)
	if err != nil {
		return nil, err
	}
	out := newSession(c)
	if level.Get("read") != "standby" {
		return out, nil
	}
	both, err := s.openReader(ctx, out, level)
	if err != nil {
		return nil, errors.Join(err, c.Close(ctx))
	}
	return both, nil
}

func (s *system) Exec(ctx context.Context, text string, args []any) (n int64, err error) {
	err = s.with(ctx, func(c *pgconn.PgConn) error {
		if len(args) == 0 { // the simple protocol takes several statements at once
			rs, err := c.Exec(ctx, text).ReadAll()
			for _, r := range rs {
				n += r.CommandTag.RowsAffected()
			}
			return err
		}
		r := c.ExecParams(ctx, text, arguments(args), nil, nil, nil).Read()
		n = r.CommandTag.RowsAffected()
		return r.Err
	})
	return n, err
}

// arguments are the arguments of a hook's statement as text; nil is NULL.
func arguments(args []any) [][]byte {
	out := make([][]byte, len(args))
	for i, a := range args {
		if a != nil {
			out[i] = fmt.Append(nil, a)
		}
	}
	return out
}

func (s *system) Query(ctx context.Context, text string, args []any) (columns []string, rows [][]any, err error) {
	err = s.with(ctx, func(c *pgconn.PgConn) error {
		r := c.ExecParams(ctx, text, arguments(args), nil, nil, nil).Read()
		if r.Err != nil {
			return r.Err
		}
		for _, f := range r.FieldDescriptions {
			columns = append(columns, f.Name)
		}
		for _, row := range r.Rows {
			line := make([]any, len(row))
			for i, v := range row {
				if v != nil {
					line[i] = decode(r.FieldDescriptions[i].DataTypeOID, string(v))
				}
			}
			rows = append(rows, line)
		}
		return nil
	})
	return columns, rows, err
}

// decode reads a value in text form by its type (OIDs of pg_type).
func decode(oid uint32, text string) any {
	switch oid {
	case 16: // bool
		return text == "t"
	case 20, 21, 23, 26: // int8, int2, int4, oid
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	case 700, 701, 1700: // float4, float8, numeric
		if f, err := strconv.ParseFloat(text, 64); err == nil && f-f == 0 {
			return f
		}
	}
	return text
}

// SessionLimit is what the server leaves to ordinary sessions, without sextant's own administrative one.
func (s *system) SessionLimit(ctx context.Context) (limit int, source string, err error) {
	err = s.with(ctx, func(c *pgconn.PgConn) error {
		rows, err := texts(ctx, c, "SELECT current_setting('max_connections'), current_setting('superuser_reserved_connections'), (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::text")
		if err != nil {
			return err
		}
		var n [3]int
		for i := range n {
			if n[i], err = strconv.Atoi(rows[0][i]); err != nil {
				return err
			}
		}
		limit = n[0] - n[1] - n[2]
		source = fmt.Sprintf("max_connections = %d, of which %d are reserved and %d in use", n[0], n[1], n[2])
		return nil
	})
	return limit, source, err
}

// counterViews are the views of cumulative statistics; those that a version doesn't have are left out.
func counterViews() []struct{ name, query string } {
	return []struct{ name, query string }{
		{"pg_stat_database", "SELECT * FROM pg_stat_database WHERE datname = current_database()"},
		{"pg_stat_wal", "SELECT * FROM pg_stat_wal"},
		{"pg_stat_bgwriter", "SELECT * FROM pg_stat_bgwriter"},
		{"pg_stat_checkpointer", "SELECT * FROM pg_stat_checkpointer"},
		{"pg_stat_io", "SELECT sum(reads) AS reads, sum(writes) AS writes, sum(extends) AS extends, sum(hits) AS hits, sum(evictions) AS evictions, sum(fsyncs) AS fsyncs FROM pg_stat_io"},
	}
}

// Counters are the numeric columns of the views.
func (s *system) Counters(ctx context.Context) ([]driver.Counter, error) {
	var out []driver.Counter
	for _, v := range counterViews() {
		columns, rows, err := s.Query(ctx, v.query, nil)
		if class, _ := driver.Classify(err); class == driver.NotFound {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", v.name, err)
		}
		for i, c := range columns {
			if len(rows) != 1 || c == "datid" || c == "numbackends" {
				continue
			}
			switch n := rows[0][i].(type) {
			case int64:
				out = append(out, driver.Counter{Name: v.name + "." + c, Value: float64(n)})
			case float64:
				out = append(out, driver.Counter{Name: v.name + "." + c, Value: n})
			}
		}
	}
	lag, err := s.replication(ctx)
	return append(out, lag...), err
}

func (s *system) Processes(context.Context) ([]int, string) {
	if s.local == nil {
		return nil, "the server was not started by sextant"
	}
	out := s.local.server.Processes()
	for _, b := range s.local.standbys {
		out = append(out, b.proc.Processes()...)
	}
	return out, ""
}

// Restart starts a throwaway server again that has died, and its standbys.
func (s *system) Restart(ctx context.Context) (bool, error) {
	if s.local == nil {
		return false, nil
	}
	dead := !s.local.server.Alive()
	if dead {
		if err := s.local.start(ctx, s); err != nil {
			return true, err
		}
	}
	for _, b := range s.local.standbys {
		if b.proc.Alive() {
			continue
		}
		dead = true
		if err := s.local.startStandby(b); err != nil {
			return true, err
		}
	}
	if dead && len(s.local.standbys) > 0 {
		return true, s.local.awaitStandbys(ctx, s, "state = 'streaming'", len(s.local.standbys))
	}
	return dead, nil
}

func (s *system) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.admin != nil {
		cctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		_ = s.admin.Close(cctx) // a server that is gone can't be told
		cancel()
		s.admin = nil
	}
	if s.local != nil {
		err = errors.Join(err, s.local.remove())
	}
	return err
}
