package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sextant/interp/driver"
)

// config reads settings that a pattern names.
func config(x *wire, name string) (string, error) {
	v, err := x.call("CONFIG", "GET", name)
	if err != nil {
		return "", err
	}
	if l, ok := v.([]any); ok && len(l) == 2 {
		return fmt.Sprint(l[1]), nil
	}
	return "", fmt.Errorf("the server has no setting %s", name)
}

// info reads one field of INFO.
func info(x *wire, section, field string) (string, error) {
	v, err := x.call("INFO", section)
	if err != nil {
		return "", err
	}
	for _, line := range strings.Split(fmt.Sprint(v), "\r\n") {
		if f, ok := strings.CutPrefix(line, field+":"); ok {
			return f, nil
		}
	}
	return "", nil
}

func (s *system) Facts(ctx context.Context) (facts []driver.Fact, err error) {
	err = s.with(ctx, func(x *wire) error {
		for _, f := range []struct{ key, section, field string }{{"server_version", "server", "redis_version"}, {"server_mode", "server", "redis_mode"},
			{"server_os", "server", "os"}, {"connected_slaves", "replication", "connected_slaves"}, {"maxmemory", "memory", "maxmemory"}} {
			v, err := info(x, f.section, f.field)
			if err != nil {
				return err
			}
			facts = append(facts, driver.Fact{Key: f.key, Value: v})
		}
		for _, name := range []string{"appendonly", "appendfsync", "save", "io-threads", "maxclients", "maxmemory-policy", "no-appendfsync-on-rewrite"} {
			if v, err := config(x, name); err == nil {
				facts = append(facts, driver.Fact{Key: "server_setting." + name, Value: v})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the server's settings: %w", err)
	}
	tls := "no"
	if s.opt.TLSConfig != nil {
		tls = "yes"
	}
	if m := s.slotMap.Load(); m != nil {
		facts = append(facts, driver.Fact{Key: "cluster_primaries", Value: strings.Join(m.nodes, " ")})
	}
	for i, r := range s.replicas {
		facts = append(facts, driver.Fact{Key: fmt.Sprintf("replica.%d", i), Value: r.addr})
	}
	return append(facts, driver.Fact{Key: "tls", Value: tls}, driver.Fact{Key: "protocol", Value: fmt.Sprintf("RESP%d", max(s.opt.Protocol, 2))}, driver.Fact{Key: "address", Value: s.opt.Addr}), nil
}

func (s *system) Processes(context.Context) ([]int, string) {
	if s.local == nil {
		return nil, "the server was not started by sextant"
	}
	var out []int
	for _, n := range s.local.nodes {
		out = append(out, n.proc.Processes()...)
	}
	return out, ""
}

// SessionLimit is maxclients without those that are connected.
func (s *system) SessionLimit(ctx context.Context) (limit int, source string, err error) {
	err = s.with(ctx, func(x *wire) error {
		limit, source = 1<<30, "no limit can be read"
		most, err := info(x, "clients", "maxclients")
		if err != nil || most == "" {
			return err
		}
		now, err := info(x, "clients", "connected_clients")
		if err != nil {
			return err
		}
		a, errA := strconv.Atoi(most)
		b, errB := strconv.Atoi(now)
		limit, source = a-b, fmt.Sprintf("maxclients = %s, of which %s are in use", most, now)
		return errors.Join(errA, errB)
	})
	return limit, source, err
}

// Counters are the numbers of INFO's sections that count, added up over the nodes of a cluster, and how far each replica is behind.
func (s *system) Counters(ctx context.Context) (out []driver.Counter, err error) {
	sum := map[string]float64{}
	nodes := 0
	node := func() string {
		if s.slotMap.Load() == nil {
			return ""
		}
		return fmt.Sprintf(".node%d", nodes)
	}
	err = s.every(ctx, func(x *wire) error {
		v, err := x.call("INFO", "stats")
		if err != nil {
			return err
		}
		for _, line := range strings.Split(fmt.Sprint(v), "\r\n") {
			name, text, ok := strings.Cut(line, ":")
			if f, err := strconv.ParseFloat(text, 64); ok && err == nil && !slices.Contains([]string{"instantaneous_ops_per_sec"}, name) {
				sum["info_stats."+name] += f
			}
		}
		replicas, err := replicasOf(x)
		for i, r := range replicas {
			sum[fmt.Sprintf("replication%s.replica%d.behind_bytes", node(), i)] = float64(r.behind)
		}
		nodes++
		return err
	})
	for _, name := range slices.Sorted(maps.Keys(sum)) {
		out = append(out, driver.Counter{Name: name, Value: sum[name]})
	}
	return out, err
}
