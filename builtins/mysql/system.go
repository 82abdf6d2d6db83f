package mysql

import (
	"context"
	sql "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	sqldriver "github.com/go-sql-driver/mysql"

	"sextant/interp/driver"
)

// system is an opened server, or the nodes of an own cluster.
type system struct {
	nodes   []*sqldriver.Config // the first is that of datasets, facts and hooks
	log     func(kind, text string)
	local   *cluster // of local(); nil for a server that existed
	version string
	maria   bool
	next    atomic.Int64 // of sessions: which node is next
	globals globals

	mu    sync.Mutex
	admin *conn // nil until needed
}

func newSystem(nodes []*sqldriver.Config, log func(kind, text string)) *system {
	return &system{nodes: nodes, log: log}
}

// conn is one connection: the library's, and the socket below it.
type conn struct {
	c    sql.Conn
	sock *driver.Stream
	bad  bool // it can't be used any more
}

// connect opens one connection to a node, without retries.
func (s *system) connect(ctx context.Context, node int) (*conn, error) {
	cfg := s.nodes[node].Clone()
	out := &conn{}
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		out.sock = driver.NewStream(c)
		return out.sock, nil
	}
	connector, err := sqldriver.NewConnector(cfg)
	if err != nil {
		return nil, connectError(cfg, err)
	}
	if out.c, err = connector.Connect(ctx); err != nil {
		return nil, connectError(cfg, err)
	}
	return out, nil
}

func (c *conn) close() error {
	c.sock.End()
	if c.bad {
		return c.sock.Close() // a farewell would wait for an answer
	}
	return c.c.Close()
}

// exec runs statements without results.
func (c *conn) exec(ctx context.Context, text string) (int64, error) {
	r, err := c.c.(sql.ExecerContext).ExecContext(ctx, text, nil)
	if err != nil {
		return 0, wrap(err)
	}
	return r.RowsAffected()
}

// query runs a statement by the text protocol and gives its rows as the library has them: nil, int64, float64, text.
func (c *conn) query(ctx context.Context, text string, args ...any) (columns []string, out [][]any, err error) {
	rows, err := c.rows(ctx, text, args)
	if err != nil {
		return nil, nil, wrap(err)
	}
	defer func() { err = errors.Join(err, wrap(rows.Close())) }()
	columns = rows.Columns()
	dest := make([]sql.Value, len(columns))
	for {
		err := rows.Next(dest)
		if errors.Is(err, io.EOF) {
			return columns, out, nil
		}
		if err != nil {
			return nil, nil, wrap(err)
		}
		line := make([]any, len(dest))
		for i, v := range dest {
			line[i] = v
			if b, ok := v.([]byte); ok {
				line[i] = string(b)
			}
		}
		out = append(out, line)
	}
}

// rows runs a query; with arguments it is prepared for it, so that columns have their own types.
func (c *conn) rows(ctx context.Context, text string, args []any) (sql.Rows, error) {
	named := make([]sql.NamedValue, len(args))
	for i, a := range args {
		named[i] = sql.NamedValue{Ordinal: i + 1, Value: a}
	}
	st, err := c.c.(sql.ConnPrepareContext).PrepareContext(ctx, text)
	var me *sqldriver.MySQLError
	if errors.As(err, &me) && me.Number == 1295 && len(args) == 0 { // the statement can't be prepared
		return c.c.(sql.QueryerContext).QueryContext(ctx, text, nil)
	}
	if err != nil {
		return nil, err
	}
	rows, err := st.(sql.StmtQueryContext).QueryContext(ctx, named)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return &ownRows{Rows: rows, st: st}, nil
}

// ownRows closes its statement with it.
type ownRows struct {
	sql.Rows
	st sql.Stmt
}

func (r *ownRows) Close() error { return errors.Join(r.Rows.Close(), r.st.Close()) }

// with runs fn on the administrative connection.
func (s *system) with(ctx context.Context, fn func(*conn) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.admin != nil {
		if v, ok := s.admin.c.(sql.Validator); s.admin.bad || ok && !v.IsValid() || s.admin.c.(sql.Pinger).Ping(ctx) != nil {
			s.admin.bad = true
			_ = s.admin.close() // the server has ended it
			s.admin = nil
		}
	}
	if s.admin == nil {
		c, err := s.connect(ctx, 0)
		if err != nil {
			return err
		}
		s.admin = c
	}
	return wrap(fn(s.admin))
}

// oldest are the oldest versions that are measured.
const (
	oldestMySQL   = 507
	oldestMariaDB = 1004
)

// greet looks whether the server is one that can be measured.
func (s *system) greet(ctx context.Context) error {
	return s.with(ctx, func(c *conn) error {
		_, rows, err := c.query(ctx, "SELECT VERSION()")
		if err != nil {
			return err
		}
		s.version = fmt.Sprint(rows[0][0])
		s.maria = strings.Contains(s.version, "MariaDB")
		var major, minor int
		if _, err := fmt.Sscanf(s.version, "%d.%d", &major, &minor); err != nil {
			return fmt.Errorf("the server's version is %q", s.version)
		}
		if n := major*100 + minor; n < oldestMySQL || s.maria && n < oldestMariaDB {
			return &driver.Error{Class: driver.Unavailable, Err: fmt.Errorf("the server is %s", s.version), Hint: "sextant measures MySQL 5.7, MariaDB 10.4 and later"}
		}
		return s.recall(ctx, c)
	})
}

// factSettings are the settings that change what is measured.
func factSettings() []string {
	return []string{"innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin", "binlog_format", "innodb_flush_method", "innodb_buffer_pool_size", "innodb_log_file_size",
		"innodb_redo_log_capacity", "innodb_doublewrite", "innodb_io_capacity", "innodb_io_capacity_max", "innodb_snapshot_isolation", "max_connections", "thread_handling", "thread_pool_size",
		"transaction_isolation", "tx_isolation", "autocommit", "sql_mode", "query_cache_type", "performance_schema", "max_allowed_packet", "innodb_lock_wait_timeout", "innodb_autoinc_lock_mode",
		"innodb_log_file_buffering", "rpl_semi_sync_master_enabled", "rpl_semi_sync_master_wait_point", "rpl_semi_sync_source_enabled", "rpl_semi_sync_source_wait_point", "gtid_mode", "read_only",
		"wsrep_on", "wsrep_sync_wait", "wsrep_slave_threads", "wsrep_provider_version", "version_comment", "character_set_server", "collation_server"}
}

// variables reads server variables or status values, by names; those that a server doesn't have are left out.
func variables(ctx context.Context, c *conn, show string, want func(name string) bool) (out [][2]string, err error) {
	_, rows, err := c.query(ctx, show)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if name := strings.ToLower(fmt.Sprint(r[0])); want(name) {
			out = append(out, [2]string{name, fmt.Sprint(r[1])})
		}
	}
	slices.SortFunc(out, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return out, nil
}

func (s *system) Facts(ctx context.Context) (facts []driver.Fact, err error) {
	kind := "MySQL"
	if s.maria {
		kind = "MariaDB"
	}
	facts = []driver.Fact{{Key: "server_version", Value: s.version}, {Key: "server_kind", Value: kind}, {Key: "nodes", Value: strconv.Itoa(len(s.nodes))}}
	err = s.with(ctx, func(c *conn) error {
		vars, err := variables(ctx, c, "SHOW GLOBAL VARIABLES", func(n string) bool { return slices.Contains(factSettings(), n) })
		if err != nil {
			return err
		}
		for _, v := range vars {
			facts = append(facts, driver.Fact{Key: "server_setting." + v[0], Value: v[1]})
		}
		state, err := variables(ctx, c, "SHOW SESSION STATUS", func(n string) bool {
			return slices.Contains([]string{"ssl_version", "wsrep_cluster_size", "wsrep_cluster_status", "rpl_semi_sync_master_clients", "rpl_semi_sync_source_clients"}, n)
		})
		for _, v := range state {
			if v[0] == "ssl_version" && v[1] != "" {
				v = [2]string{"tls", v[1]}
			} else if v[0] == "ssl_version" {
				v = [2]string{"tls", "no"}
			}
			facts = append(facts, driver.Fact{Key: v[0], Value: v[1]})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the server's settings: %w", err)
	}
	return append(facts, driver.Fact{Key: "address", Value: s.nodes[0].Addr}), nil
}

func (s *system) Exec(ctx context.Context, text string, args []any) (n int64, err error) {
	err = s.with(ctx, func(c *conn) error {
		if len(args) == 0 {
			n, err = c.exec(ctx, text)
			return err
		}
		st, err := c.c.(sql.ConnPrepareContext).PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		named := make([]sql.NamedValue, len(args))
		for i, a := range args {
			named[i] = sql.NamedValue{Ordinal: i + 1, Value: a}
		}
		r, err := st.(sql.StmtExecContext).ExecContext(ctx, named)
		if err != nil {
			return errors.Join(err, st.Close())
		}
		n, err = r.RowsAffected()
		return errors.Join(err, st.Close())
	})
	return n, err
}

func (s *system) Query(ctx context.Context, text string, args []any) (columns []string, rows [][]any, err error) {
	err = s.with(ctx, func(c *conn) error {
		columns, rows, err = c.query(ctx, text, args...)
		return err
	})
	return columns, rows, err
}

// SessionLimit is what the server leaves to other sessions than sextant's own administrative one.
func (s *system) SessionLimit(ctx context.Context) (limit int, source string, err error) {
	err = s.with(ctx, func(c *conn) error {
		vars, err := variables(ctx, c, "SHOW GLOBAL VARIABLES", func(n string) bool { return n == "max_connections" })
		if err != nil {
			return err
		}
		used, err := variables(ctx, c, "SHOW GLOBAL STATUS", func(n string) bool { return n == "threads_connected" })
		if err != nil {
			return err
		}
		if len(vars) != 1 || len(used) != 1 {
			return errors.New("the server doesn't say how many connections it takes")
		}
		most, err := strconv.Atoi(vars[0][1])
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(used[0][1])
		if err != nil {
			return err
		}
		limit = (most - n) * len(s.nodes)
		source = fmt.Sprintf("max_connections = %d, of which %d are in use", most, n)
		if len(s.nodes) > 1 {
			source += fmt.Sprintf(", on each of %d nodes", len(s.nodes))
		}
		return nil
	})
	return limit, source, err
}

// Counters are status values of what the server did.
func (s *system) Counters(ctx context.Context) (out []driver.Counter, err error) {
	prefixes := []string{"com_select", "com_insert", "com_update", "com_delete", "com_commit", "com_rollback", "com_stmt_execute", "handler_", "innodb_data_", "innodb_log_", "innodb_os_log_",
		"innodb_row_lock_", "innodb_rows_", "innodb_buffer_pool_read", "innodb_buffer_pool_write_requests", "innodb_buffer_pool_pages_flushed", "innodb_deadlocks", "bytes_", "binlog_", "questions",
		"connections", "created_tmp_", "sort_", "table_locks_waited", "wsrep_local_cert_failures", "wsrep_local_bf_aborts", "wsrep_flow_control_", "wsrep_replicated", "wsrep_received"}
	err = s.with(ctx, func(c *conn) error {
		vars, err := variables(ctx, c, "SHOW GLOBAL STATUS", func(n string) bool {
			return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(n, p) })
		})
		for _, v := range vars {
			if f, err := strconv.ParseFloat(v[1], 64); err == nil {
				out = append(out, driver.Counter{Name: v[0], Value: f})
			}
		}
		return err
	})
	return out, err
}

func (s *system) Processes(context.Context) ([]int, string) {
	if s.local == nil {
		return nil, "the server was not started by sextant"
	}
	return s.local.processes(), ""
}

// Restart starts nodes of a throwaway server again that have died.
func (s *system) Restart(ctx context.Context) (bool, error) {
	if s.local == nil || s.local.alive() {
		return false, nil
	}
	return true, s.local.restart(ctx, s)
}

func (s *system) Close(ctx context.Context) error {
	err := s.putBack(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.admin != nil {
		_ = s.admin.close() // a server that is gone can't be told
		s.admin = nil
	}
	if s.local != nil {
		err = errors.Join(err, s.local.remove())
	}
	return err
}
