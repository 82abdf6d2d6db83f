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
	for _, c := range []gocql.Consistency{gocql.Any, gocql.One, gocql.Two, gocql.Three, gocql.Quorum, gocql.All, gocql.LocalOne, gocql.LocalQuorum, gocql.EachQuorum, gocql.Serial, gocql.LocalSerial} {
		if strings.EqualFold(c.String(), word) {
			return c, nil
		}
	}
	return 0, fmt.Errorf("there is no consistency %q", word)
}

// serialOf is the consistency of the conditions of conditional writes: the server's own default without one.
func serialOf(l spec.Level) (gocql.Consistency, error) {
	if v := l.Get("serial"); v != "" {
		return consistencyOf(v)
	}
	return gocql.Serial, nil
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

// traced runs a statement with tracing and gives what the server wrote of it into its trace: consistency_level, serial_consistency_level.
func (s *session) traced(ctx context.Context, c gocql.Consistency, format string) (map[string]string, error) {
	id := traceID{}
	session := s.s.session()
	q := session.Query(fmt.Sprintf(format, s.s.keyspace, probe)).Consistency(c).SerialConsistency(s.serial)
	if err := q.Trace(&id).ExecContext(ctx); err != nil {
		return nil, wrap(err)
	}
	if id.id == nil {
		return nil, errors.New("the server traces nothing")
	}
	// the server writes traces after its reply
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		var params map[string]string
		err := session.Query("SELECT parameters FROM system_traces.sessions WHERE session_id = ?", id.id).Consistency(gocql.One).ScanContext(ctx, &params)
		if err == nil && params["consistency_level"] != "" {
			for k, v := range params {
				params[k] = strings.ToLower(v)
			}
			return params, nil
		}
		if err != nil && !errors.Is(err, gocql.ErrNotFound) {
			return nil, wrap(err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the server's trace: %w", ctx.Err())
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
	reading, err := s.traced(ctx, s.read, "SELECT v FROM %s.%s WHERE k = 'level'")
	if err != nil {
		return "", fmt.Errorf("reading the level of reads back: %w", err)
	}
	writing, err := s.traced(ctx, s.write, "UPDATE %s.%s SET v = 'x' WHERE k = 'level'")
	if err != nil {
		return "", fmt.Errorf("reading the level of writes back: %w", err)
	}
	const level = "consistency_level"
	both := reading[level]
	if writing[level] != both {
		both = "mixed"
	}
	var got spec.Level
	for _, x := range []spec.Setting{{Name: "consistency", Value: both}, {Name: "read", Value: reading[level]}, {Name: "write", Value: writing[level]},
		{Name: "serial", Value: writing["serial_"+level]}} {
		if len(asked.Settings) == 0 || asked.Get(x.Name) != "" {
			got.Settings = append(got.Settings, x)
		}
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
