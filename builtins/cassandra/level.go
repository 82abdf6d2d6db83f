package cassandra

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// consistencyOf is the library's value of a level's word.
func consistencyOf(word string) (gocql.Consistency, error) {
	for _, c := range []gocql.Consistency{gocql.Any, gocql.One, gocql.Two, gocql.Three, gocql.Quorum, gocql.All, gocql.LocalOne, gocql.LocalQuorum, gocql.EachQuorum} {
		if strings.EqualFold(c.String(), word) {
			return c, nil
		}
	}
	return 0, fmt.Errorf("there is no consistency %q", word)
}

// defaultConsistency is what requests carry that no level speaks of: the default of Cassandra's own drivers.
const defaultConsistency = "local_one"

// wordsOf are the consistencies of reads and of writes that a level means.
func wordsOf(l spec.Level) (read, write string) {
	read, write = defaultConsistency, defaultConsistency
	if v := l.Get("consistency"); v != "" {
		read, write = v, v
	}
	if v := l.Get("read"); v != "" {
		read = v
	}
	if v := l.Get("write"); v != "" {
		write = v
	}
	return read, write
}

// CheckLevel refuses a consistency that no number of living replicas could give, or that is said twice.
func (s *system) CheckLevel(ctx context.Context, l spec.Level) error {
	refuse := func(format string, a ...any) error {
		return &driver.LevelRefused{Level: l, Reason: fmt.Sprintf(format, a...)}
	}
	if l.Get("consistency") != "" && (l.Get("read") != "" || l.Get("write") != "") {
		return refuse("consistency is that of reads and writes already")
	}
	f, err := s.factors(ctx)
	if err != nil {
		return err
	}
	var sum int64
	for _, n := range f {
		sum += n
	}
	read, write := wordsOf(l)
	for _, w := range []string{read, write} {
		need := map[string]int64{"two": 2, "three": 3}[w]
		switch {
		case need > sum:
			return refuse("%s needs %d replicas, the keyspace has %d", w, need, sum)
		case strings.HasPrefix(w, "local_") && f[s.dc] == 0:
			return refuse("%s needs replicas in %s, which has none", w, s.dc)
		}
	}
	return nil
}

// probe is the table that levels are tried on.
const probe = "sextant_probe"

// traced runs a statement with tracing and gives the consistency that the server wrote into its trace.
func (s *system) traced(ctx context.Context, cql, word string) (string, error) {
	c, err := consistencyOf(word)
	if err != nil {
		return "", err
	}
	id := traceID{}
	session := s.session()
	if err := session.Query(cql).Consistency(c).Trace(&id).ExecContext(ctx); err != nil {
		return "", wrap(err)
	}
	if id.id == nil {
		return "", errors.New("the server traces nothing")
	}
	// the server writes traces after its reply
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		var params map[string]string
		err := session.Query("SELECT parameters FROM system_traces.sessions WHERE session_id = ?", id.id).Consistency(gocql.One).ScanContext(ctx, &params)
		if v := params["consistency_level"]; err == nil && v != "" {
			return strings.ToLower(v), nil
		}
		if err != nil && !errors.Is(err, gocql.ErrNotFound) {
			return "", wrap(err)
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("waiting for the server's trace: %w", ctx.Err())
		case <-look.C:
		}
	}
}

type traceID struct{ id []byte }

func (t *traceID) Trace(id []byte) { t.id = append([]byte(nil), id...) }

// Level has a read and a write of the session's consistency traced by the server. ANY and each level of a write that too few
// replicas are there for come back as an error of that write.
func (s *session) Level(ctx context.Context, asked spec.Level) (string, error) {
	if err := s.s.ensureProbe(ctx); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	read, err := s.s.traced(ctx, fmt.Sprintf("SELECT v FROM %s.%s WHERE k = 'level'", s.s.keyspace, probe), s.readWord)
	if err != nil {
		return "", fmt.Errorf("reading the level of reads back: %w", err)
	}
	write, err := s.s.traced(ctx, fmt.Sprintf("UPDATE %s.%s SET v = 'x' WHERE k = 'level'", s.s.keyspace, probe), s.writeWord)
	if err != nil {
		return "", fmt.Errorf("reading the level of writes back: %w", err)
	}
	all := len(asked.Settings) == 0
	var got spec.Level
	if both := asked.Get("consistency") != ""; both || all {
		v := read
		if write != read {
			v = "mixed"
		}
		got.Settings = append(got.Settings, spec.Setting{Name: "consistency", Value: v})
	}
	if all || asked.Get("read") != "" {
		got.Settings = append(got.Settings, spec.Setting{Name: "read", Value: read})
	}
	if all || asked.Get("write") != "" {
		got.Settings = append(got.Settings, spec.Setting{Name: "write", Value: write})
	}
	return got.String(), nil
}

// ensureProbe makes the table of traced requests; clients that begin at the same time wait for the first of them.
func (s *system) ensureProbe(ctx context.Context) error {
	s.probing.Lock()
	defer s.probing.Unlock()
	if s.probed {
		return nil
	}
	if err := s.ensureKeyspace(ctx); err != nil {
		return err
	}
	var name string
	err := s.session().Query("SELECT table_name FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?", s.keyspace, probe).ScanContext(ctx, &name)
	if errors.Is(err, gocql.ErrNotFound) {
		err = s.session().Query(fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s.%s (k text PRIMARY KEY, v text)", s.keyspace, probe)).ExecContext(ctx)
	}
	if err == nil {
		err = s.session().AwaitSchemaAgreement(ctx)
	}
	s.probed = err == nil
	return wrap(err)
}
