package cassandra

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// system is an opened cluster.
type system struct {
	cfg         *gocql.ClusterConfig
	log         func(kind, text string)
	local       *cluster // of local(); nil for one that existed
	keyspace    string
	user        string
	dc          string // the local data centre
	replication any    // as asked
	version     string
	dcs         map[string]int64 // nodes by data centre

	probing sync.Mutex
	probed  bool // the table of traced requests is there

	mu sync.RWMutex
	c  *gocql.Session // with the keyspace once that exists
}

// session is the cluster's shared connections.
func (s *system) session() *gocql.Session {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.c
}

// open connects, looks at the cluster, and connects again with what it has learnt: its data centre and keyspace.
func (s *system) open(ctx context.Context) error {
	first := *s.cfg
	first.NumConns = 1
	first.PoolConfig.HostSelectionPolicy = gocql.RoundRobinHostPolicy()
	c, err := s.create(ctx, &first)
	if err != nil {
		return err
	}
	err = s.look(ctx, c)
	exists := false
	if err == nil {
		exists, err = s.keyspaceExists(ctx, c)
	}
	c.Close()
	if err != nil {
		return wrap(err)
	}
	return s.reopen(ctx, exists)
}

// create makes a session; gocql itself has no context for it.
func (s *system) create(ctx context.Context, cfg *gocql.ClusterConfig) (*gocql.Session, error) {
	type made struct {
		c   *gocql.Session
		err error
	}
	done := make(chan made, 1)
	go func() {
		c, err := cfg.CreateSession()
		done <- made{c, err}
	}()
	select {
	case m := <-done:
		if m.err != nil {
			return nil, s.connectError(m.err)
		}
		return m.c, nil
	case <-ctx.Done():
		go func() { // it ends by its own time-out
			if m := <-done; m.c != nil {
				m.c.Close()
			}
		}()
		return nil, s.connectError(fmt.Errorf("timeout: %w", ctx.Err()))
	}
}

func (s *system) reopen(ctx context.Context, withKeyspace bool) error {
	cfg := *s.cfg
	if withKeyspace {
		cfg.Keyspace = s.keyspace
	}
	cfg.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.DCAwareRoundRobinPolicy(s.dc))
	c, err := s.create(ctx, &cfg)
	if err != nil {
		return err
	}
	s.mu.Lock()
	old := s.c
	s.c = c
	s.mu.Unlock()
	if old != nil {
		old.Close()
	}
	return nil
}

// look reads version and data centres.
func (s *system) look(ctx context.Context, c *gocql.Session) error {
	var dc string
	if err := c.Query("SELECT release_version, data_center FROM system.local").ScanContext(ctx, &s.version, &dc); err != nil {
		return err
	}
	s.dcs = map[string]int64{dc: 1}
	it := c.Query("SELECT data_center FROM system.peers").IterContext(ctx)
	for it.Scan(&dc) {
		s.dcs[dc]++
	}
	if err := it.Close(); err != nil {
		return err
	}
	var major, minor int
	if _, err := fmt.Sscanf(s.version, "%d.%d", &major, &minor); err != nil || major*100+minor < 311 {
		return &driver.Error{Class: driver.Unavailable, Err: fmt.Errorf("the server is Cassandra %s", s.version), Hint: "sextant measures version 3.11 and later"}
	}
	names := slices.Sorted(maps.Keys(s.dcs))
	switch {
	case s.dc == "" && len(names) > 1:
		return &driver.Error{Class: driver.Other, Err: fmt.Errorf("the cluster has the data centres %s", strings.Join(names, ", ")), Hint: `name the local one: datacenter = "` + names[0] + `"`}
	case s.dc == "":
		s.dc = names[0]
	case s.dcs[s.dc] == 0:
		return &driver.Error{Class: driver.NotFound, Err: fmt.Errorf("the cluster has no data centre %q", s.dc), Hint: "it has " + strings.Join(names, ", ")}
	}
	return nil
}

func (s *system) keyspaceExists(ctx context.Context, c *gocql.Session) (bool, error) {
	var name string
	err := c.Query("SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?", s.keyspace).ScanContext(ctx, &name)
	if errors.Is(err, gocql.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// factors are the replicas in each data centre: of the keyspace, or as asked while there is none.
func (s *system) factors(ctx context.Context) (map[string]int64, error) {
	var have map[string]string
	err := s.session().Query("SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?", s.keyspace).ScanContext(ctx, &have)
	if errors.Is(err, gocql.ErrNotFound) {
		return replicas(s.replication, s.dcs), nil
	}
	if err != nil {
		return nil, wrap(err)
	}
	out := map[string]int64{}
	for k, v := range have {
		if k == "class" {
			continue
		}
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("keyspace %s: its replication in %s is %q", s.keyspace, k, v)
		}
		if k == "replication_factor" { // SimpleStrategy: over the whole ring
			k = s.dc
		}
		out[k] = n
	}
	return out, nil
}

// ensureKeyspace makes the keyspace, or sees that it has the replication that was asked for.
func (s *system) ensureKeyspace(ctx context.Context) error {
	exists, err := s.keyspaceExists(ctx, s.session())
	if err != nil {
		return wrap(err)
	}
	want := replicas(s.replication, s.dcs)
	if exists {
		have, err := s.factors(ctx)
		if err != nil {
			return err
		}
		if !maps.Equal(have, want) {
			return &driver.Error{Class: driver.Constraint, Err: fmt.Errorf("keyspace %s has the replication %v, asked is %v; it is left as it is", s.keyspace, have, want),
				Hint: "name another keyspace in the URL, or its replication as it is"}
		}
		return nil
	}
	var parts []string
	for _, dc := range slices.Sorted(maps.Keys(want)) {
		parts = append(parts, fmt.Sprintf("'%s': %d", dc, want[dc]))
	}
	cql := fmt.Sprintf("CREATE KEYSPACE IF NOT EXISTS %s WITH replication = {'class': 'NetworkTopologyStrategy', %s}", s.keyspace, strings.Join(parts, ", "))
	if err := s.session().Query(cql).ExecContext(ctx); err != nil {
		return fmt.Errorf("making keyspace %s: %w", s.keyspace, wrap(err))
	}
	return s.reopen(ctx, true)
}

func (s *system) Facts(ctx context.Context) ([]driver.Fact, error) {
	facts := []driver.Fact{{Key: "server_version", Value: s.version}, {Key: "local_datacenter", Value: s.dc}}
	for _, dc := range slices.Sorted(maps.Keys(s.dcs)) {
		facts = append(facts, driver.Fact{Key: "nodes." + dc, Value: strconv.FormatInt(s.dcs[dc], 10)})
	}
	f, err := s.factors(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the server's settings: %w", err)
	}
	for _, dc := range slices.Sorted(maps.Keys(f)) {
		facts = append(facts, driver.Fact{Key: "replication." + dc, Value: strconv.FormatInt(f[dc], 10)})
	}
	_, rows, err := s.Query(ctx, "SELECT name, value FROM system_views.settings", nil)
	if class, _ := driver.Classify(err); err != nil && class != driver.NotFound && class != driver.Auth {
		return nil, fmt.Errorf("reading the server's settings: %w", err)
	}
	want := []string{"commitlog_sync", "commitlog_sync_period", "commitlog_sync_period_in_ms", "concurrent_reads", "concurrent_writes", "memtable_heap_space", "memtable_offheap_space", "num_tokens",
		"hinted_handoff_enabled", "write_request_timeout", "read_request_timeout", "write_request_timeout_in_ms", "read_request_timeout_in_ms", "disk_access_mode", "compaction_throughput"}
	for _, r := range rows {
		if name := fmt.Sprint(r[0]); slices.Contains(want, name) {
			facts = append(facts, driver.Fact{Key: "server_setting." + name, Value: fmt.Sprint(r[1])})
		}
	}
	tls := "no"
	if s.cfg.SslOpts != nil {
		tls = "yes"
	}
	slices.SortFunc(facts[2:], func(a, b driver.Fact) int { return strings.Compare(a.Key, b.Key) })
	return append(facts, driver.Fact{Key: "tls", Value: tls}, driver.Fact{Key: "address", Value: fmt.Sprintf("%s:%d", strings.Join(s.cfg.Hosts, ","), s.cfg.Port)}), nil
}

// Exec runs a statement of a hook. Cassandra doesn't say how many rows a statement changed.
func (s *system) Exec(ctx context.Context, text string, args []any) (int64, error) {
	return 0, wrap(s.session().Query(text, args...).ExecContext(ctx))
}

func (s *system) Query(ctx context.Context, text string, args []any) (columns []string, rows [][]any, err error) {
	it := s.session().Query(text, args...).IterContext(ctx)
	for _, c := range it.Columns() {
		columns = append(columns, c.Name)
	}
	for {
		data, err := it.RowData()
		if err != nil {
			return nil, nil, wrap(errors.Join(err, it.Close()))
		}
		if !it.Scan(data.Values...) {
			break
		}
		line := make([]any, len(data.Values))
		for i, v := range data.Values {
			line[i] = plain(v)
		}
		rows = append(rows, line)
	}
	return columns, rows, wrap(it.Close())
}

// plain makes a value that hooks know of what gocql has scanned.
func plain(v any) any {
	switch v := v.(type) {
	case *string:
		return *v
	case *int:
		return int64(*v)
	case *int64:
		return *v
	case *int16:
		return int64(*v)
	case *int8:
		return int64(*v)
	case *float64:
		return *v
	case *float32:
		return float64(*v)
	case *bool:
		return *v
	case *[]byte:
		return "0x" + hex.EncodeToString(*v)
	case *gocql.UUID:
		return v.String()
	}
	return strings.TrimPrefix(fmt.Sprintf("%v", v), "&")
}

// Counters are the thread pools of the node that answers (from version 4 on).
func (s *system) Counters(ctx context.Context) ([]driver.Counter, error) {
	_, rows, err := s.Query(ctx, "SELECT name, completed_tasks, blocked_tasks_all_time FROM system_views.thread_pools", nil)
	if class, _ := driver.Classify(err); err != nil && (class == driver.NotFound || class == driver.Auth) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the thread pools: %w", err)
	}
	var out []driver.Counter
	for _, r := range rows {
		for i, what := range []string{"completed_tasks", "blocked_tasks_all_time"} {
			if n, ok := r[i+1].(int64); ok {
				out = append(out, driver.Counter{Name: fmt.Sprintf("thread_pools.%v.%s", r[0], what), Value: float64(n)})
			}
		}
	}
	return out, nil
}

func (s *system) Processes(context.Context) ([]int, string) {
	if s.local == nil {
		return nil, "the server was not started by sextant"
	}
	return s.local.processes(), ""
}

// Restart starts nodes of a throwaway cluster again that have died.
func (s *system) Restart(ctx context.Context) (bool, error) {
	if s.local == nil || s.local.alive() {
		return false, nil
	}
	if err := s.local.start(ctx, s); err != nil {
		return true, err
	}
	return true, s.open(ctx)
}

func (s *system) Close(context.Context) error {
	s.mu.Lock()
	c := s.c
	s.c = nil
	s.mu.Unlock()
	if c != nil {
		c.Close()
	}
	if s.local != nil {
		return s.local.remove()
	}
	return nil
}

// VerifyLevel is that every replica answers: the newest of them is what was written last.
func (s *system) VerifyLevel() spec.Level {
	return spec.Level{Settings: []spec.Setting{{Name: "read", Value: "all"}}}
}
