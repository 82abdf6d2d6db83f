package cassandra

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"sextant/interp/driver"
	"sextant/interp/driver/sandbox"
	"sextant/interp/spec"
)

// Driver describes Cassandra.
func Driver() driver.Driver {
	words := func(more ...string) []spec.LevelValue {
		return spec.LevelValues(append([]string{
			"one", "one replica answers", "two", "two replicas answer", "three", "three replicas answer",
			"quorum", "more than half of the replicas of all data centres answer", "all", "every replica answers",
			"local_one", "one replica of the local data centre answers", "local_quorum", "more than half of the replicas of the local data centre answer",
			"each_quorum", "more than half of the replicas of each data centre answer"}, more...)...)
	}
	replication := spec.Param{Name: "replication", Kind: spec.KindAny, Default: int64(1), Check: checkReplication,
		Doc: `replicas of each row in each data centre: 3, or {"dc1": 3, "dc2": 2}; a keyspace that exists must have it`}
	connections := spec.Param{Name: "connections", Kind: spec.KindInt, Default: int64(2), Check: spec.AtLeast(1), Doc: "connections to each node, shared by all clients"}
	return driver.Driver{SystemType: spec.SystemType{
		Name: "cassandra",
		Doc:  "Apache Cassandra from version 3.11 on: a cluster that exists, or a throwaway one from an installed Cassandra. Scans go by token, as YCSB's do.",
		Makers: []spec.Maker{
			{Name: "server", Doc: "a cluster that exists", Positional: 1, Check: driver.CheckTLS, Params: append([]spec.Param{
				{Name: "url", Kind: spec.KindSecret, Required: true, Check: checkURL,
					Doc: `cassandra://user:password@host1,host2:9042/keyspace: secret("CASSANDRA_URL"), or as text when it holds no password`},
				{Name: "datacenter", Kind: spec.KindString, Doc: "the local data centre; needed when there are several"},
				replication, connections}, driver.TLSParams()...)},
			{Name: "local", Doc: "a throwaway cluster on loopback, one node an address (127.0.0.1, 127.0.0.2, ...), removed at the end", Check: checkLocal, Params: []spec.Param{
				{Name: "nodes", Kind: spec.KindInt, Default: int64(1), Check: spec.Between(1, 9), Doc: "how many nodes"},
				{Name: "datacenters", Kind: spec.KindInt, Default: int64(1), Check: spec.Between(1, 3), Doc: "how many data centres (dc1, dc2, ...) they are spread over; clients are in dc1"},
				replication, connections,
				{Name: "heap", Kind: spec.KindString, Default: "512M", Check: checkHeap, Doc: "the Java heap of each node"},
				{Name: "settings", Kind: spec.KindMap, Default: map[string]any{}, Check: checkSettings,
					Doc: `settings of cassandra.yaml, such as {"commitlog_sync": "batch"}`}}},
		},
		Levels: []spec.LevelSetting{
			{Name: "consistency", Doc: "of reads and writes, sent with each request; read back from a trace of the server", Values: words()},
			{Name: "read", Doc: "of reads alone: read=one+write=all", Values: words(
				"serial", "the latest value, also of a conditional write that is not finished", "local_serial", "the same within the local data centre")},
			{Name: "write", Doc: "of writes alone", Values: words("any", "a hint on the coordinator is enough: no replica needs to have the write")},
			{Name: "serial", Doc: "of the conditions of insert-if-absent and compare-and-set, and of statements with IF: lightweight transactions", Values: spec.LevelValues(
				"serial", "agreed by most replicas of all data centres (the server's default)", "local_serial", "agreed by most replicas of the local data centre")},
		},
		Ops: append(driver.RecordActions(), string(driver.CQL)),
		CheckSize: func(s *spec.System, z spec.Size) error {
			if most := int64(12 << 20); z.RowBytes > most {
				return fmt.Errorf("a row of %d bytes is more than Cassandra takes in one write, about 12 MiB", z.RowBytes)
			}
			set, _ := s.Options["settings"].(map[string]any)
			if n := z.RowBytes * int64(z.Batch); n > 50<<10 && s.Maker == "local" && set["batch_size_fail_threshold"] == nil && set["batch_size_fail_threshold_in_kb"] == nil {
				return fmt.Errorf("a batch of %d bytes is more than Cassandra's 50 KiB: make batch smaller, or write cassandra.local(settings = {\"batch_size_fail_threshold\": \"1MiB\"})", n)
			}
			return nil
		},
	}, Open: openSystem, Installed: installed}
}

func checkReplication(v any) error {
	switch v := v.(type) {
	case int64:
		return spec.AtLeast(1)(v)
	case map[string]any:
		for dc, n := range v {
			if spec.AtLeast(0)(n) != nil || strings.Trim(dc, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") != "" || dc == "" {
				return fmt.Errorf("gives the data centre %q the number %s", dc, spec.Display(n))
			}
		}
		if len(v) > 0 {
			return nil
		}
	}
	return errors.New(`must be a number of replicas, or one for each data centre: {"dc1": 3}`)
}

const example = `cassandra://user:password@host1,host2:9042/keyspace`

// target is what a URL says.
type target struct {
	hosts                    []string
	port                     int
	user, password, keyspace string
}

// parseURL reads a URL. Its errors never hold it.
func parseURL(text string) (target, error) {
	bad := errors.New("is no URL of a Cassandra cluster: write " + example)
	rest, ok := strings.CutPrefix(text, "cassandra://")
	if !ok {
		return target{}, bad
	}
	out := target{port: 9042}
	before, path, _ := strings.Cut(rest, "/")
	if out.keyspace = path; strings.ContainsAny(path, "?#/") {
		return target{}, errors.New("has more than a keyspace behind its hosts: use the options of cassandra.server instead")
	}
	if out.keyspace == "" {
		out.keyspace = "sextant"
	}
	if strings.Trim(out.keyspace, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return target{}, errors.New("names a keyspace that is no plain lower-case name")
	}
	if i := strings.LastIndexByte(before, '@'); i >= 0 {
		u, err := url.Parse("x://" + before[:i] + "@h")
		if err != nil || u.User == nil {
			return target{}, bad
		}
		out.user = u.User.Username()
		out.password, _ = u.User.Password()
		before = before[i+1:]
	}
	for _, h := range strings.Split(before, ",") {
		host, port, err := net.SplitHostPort(h)
		if err != nil {
			host, port = h, ""
		}
		if host == "" {
			return target{}, bad
		}
		if _, err := fmt.Sscanf(port, "%d", &out.port); port != "" && err != nil {
			return target{}, bad
		}
		out.hosts = append(out.hosts, host)
	}
	return out, nil
}

// checkURL refuses a URL that stands in the script and holds a password, or that can't be read.
func checkURL(v any) error {
	text, ok := v.(string)
	if !ok {
		return nil // a secret: read when the run starts
	}
	t, err := parseURL(text)
	if err == nil && t.password != "" {
		return driver.PasswordInScript("CASSANDRA_URL")
	}
	return err
}

// checkLocal refuses more replicas than nodes.
func checkLocal(o map[string]any) error {
	nodes, _ := o["nodes"].(int64)
	dcs, _ := o["datacenters"].(int64)
	if dcs > nodes {
		return &spec.ParamError{Param: "datacenters", Msg: fmt.Sprintf("can't be %d with %d nodes", dcs, nodes)}
	}
	have := map[string]int64{}
	for i := range nodes {
		have[datacenter(int(i), int(dcs))]++
	}
	for dc, n := range replicas(o["replication"], have) {
		if n > have[dc] {
			return &spec.ParamError{Param: "replication", Msg: fmt.Sprintf("asks for %d replicas in %s, which has %d nodes", n, dc, have[dc])}
		}
	}
	return nil
}

// replicas is the number for each data centre that exists.
func replicas(v any, have map[string]int64) map[string]int64 {
	out := map[string]int64{}
	switch v := v.(type) {
	case int64:
		for dc := range have {
			out[dc] = v
		}
	case map[string]any:
		for dc, n := range v {
			out[dc], _ = n.(int64)
		}
	}
	return out
}

func checkHeap(v any) error {
	text, _ := v.(string)
	if n := len(text); n < 2 || strings.Trim(text[:n-1], "0123456789") != "" || !strings.ContainsRune("MGmg", rune(text[n-1])) {
		return fmt.Errorf(`must be a size such as "512M" or "2G"`)
	}
	return nil
}

func checkSettings(v any) error {
	return sandbox.CheckSettings(v, "abcdefghijklmnopqrstuvwxyz_", "cluster_name", "num_tokens", "initial_token", "auto_bootstrap", "partitioner", "endpoint_snitch",
		"listen_address", "rpc_address", "native_transport_port", "storage_port", "seed_provider", "authenticator", "authorizer")
}

// clusterConfig is what every connection of sextant has.
func clusterConfig(hosts []string, port int, connections int64) *gocql.ClusterConfig {
	cfg := gocql.NewCluster(hosts...)
	cfg.Port = port
	cfg.NumConns = int(max(connections, 1))
	cfg.Timeout = 30 * time.Second // the engine ends operations earlier; the server says read and write time-outs of its own
	cfg.ConnectTimeout = 10 * time.Second
	cfg.RetryPolicy = nil
	cfg.WriteCoalesceWaitTime = 0
	cfg.DefaultIdempotence = false
	cfg.PageSize = 5000
	cfg.Metadata.CacheMode = gocql.KeyspaceOnly
	cfg.ReconnectInterval = time.Second
	cfg.ReconnectionPolicy = &gocql.ConstantReconnectionPolicy{MaxRetries: 1, Interval: 100 * time.Millisecond}
	cfg.MaxWaitSchemaAgreement = time.Minute
	cfg.Logger = silent{}
	return cfg
}

// silent drops what the library would print: its errors come back as errors.
type silent struct{}

func (silent) Error(string, ...gocql.LogField)   {}
func (silent) Warning(string, ...gocql.LogField) {}
func (silent) Info(string, ...gocql.LogField)    {}
func (silent) Debug(string, ...gocql.LogField)   {}

func openSystem(ctx context.Context, t driver.Target) (driver.System, error) {
	connections, _ := t.Options["connections"].(int64)
	if t.System.Maker == "local" {
		return openLocal(ctx, t, connections)
	}
	text, _ := t.Options["url"].(string)
	at, err := parseURL(text)
	if err != nil {
		return nil, &driver.Error{Class: driver.Other, Err: fmt.Errorf("the URL of %s %w", t.System.Name, err)}
	}
	cfg := clusterConfig(at.hosts, at.port, connections)
	if at.user != "" {
		cfg.Authenticator = gocql.PasswordAuthenticator{Username: at.user, Password: at.password}
	}
	secure, err := driver.TLSConfig(t.Options)
	if err != nil {
		return nil, err
	}
	if secure != nil {
		cfg.SslOpts = &gocql.SslOptions{Config: secure, EnableHostVerification: !secure.InsecureSkipVerify}
	}
	s := &system{cfg: cfg, log: t.Log, keyspace: at.keyspace, user: at.user, replication: t.Options["replication"]}
	s.dc, _ = t.Options["datacenter"].(string)
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}
