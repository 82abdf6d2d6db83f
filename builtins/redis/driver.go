package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"

	goredis "github.com/redis/go-redis/v9"

	"sextant/interp/driver"
	"sextant/interp/driver/sandbox"
	"sextant/interp/spec"
)

// Driver describes Redis.
func Driver() driver.Driver {
	protocol := spec.Param{Name: "protocol", Kind: spec.KindInt, Default: int64(2), Check: spec.Between(2, 3),
		Doc: "of replies: 2 (RESP2, what redis-benchmark and most clients speak) or 3 (RESP3), which the server must offer"}
	return driver.Driver{SystemType: spec.SystemType{
		Name: "redis",
		Ops:  append(slices.DeleteFunc(driver.RecordActions(), func(a string) bool { return a == string(driver.ReadByIndex) }), string(driver.Command)),
		Doc:  "Redis from version 6 on: a server with or without replicas, or a cluster, that exists; or a throwaway one from the installed binary.",
		Makers: []spec.Maker{
			{Name: "server", Doc: "a server that exists; the database of the URL must be empty or sextant's", Positional: 1, Check: driver.CheckTLS, Params: append([]spec.Param{
				{Name: "url", Kind: spec.KindSecret, Required: true, Check: checkURL,
					Doc: `redis://user:password@host:6379/0 or rediss:// for TLS: secret("REDIS_URL"), or as text when it holds no password`}, protocol}, driver.TLSParams()...)},
			{Name: "local", Doc: "a throwaway server on loopback, with an append-only file, removed at the end", Check: checkNodes, Params: []spec.Param{
				{Name: "replicas", Kind: spec.KindInt, Default: int64(0), Check: spec.Between(0, 8), Doc: "replicas of the server"},
				{Name: "cluster", Kind: spec.KindInt, Check: spec.Between(3, 16), Doc: "how many primaries a cluster has, in place of one server"},
				protocol,
				{Name: "settings", Kind: spec.KindMap, Default: map[string]any{}, Check: checkSettings,
					Doc: `server settings beside Redis' defaults and appendonly yes, such as {"appendonly": False}`}}},
		},
		Levels: []spec.LevelSetting{
			{Name: "appendfsync", Doc: "CONFIG SET appendfsync on the server (of all its clients), read back with CONFIG GET", Values: spec.LevelValues(
				"no", "the operating system writes the append-only file when it likes",
				"everysec", "synced once a second: a crash loses up to two seconds",
				"always", "synced before each reply")},
			{Name: "wait", Doc: "WAIT n after each write, in the same request; fewer acknowledgements within a second are a time-out with a code of its own, such as WAIT 1 of 2", Values: spec.LevelValues(
				"1", "one replica has the write", "2", "two replicas have it", "3", "three replicas have it")},
			{Name: "read", Doc: "where reads go; read back with ROLE. How far each replica is behind stands in server_counters", Values: spec.LevelValues(
				"primary", "the server, or the key's primary in a cluster", "replica", "one of the replicas, another one for each client: what it gives may be old")},
		},
		CheckLevel: func(s *spec.System, l spec.Level) error {
			if l.Get("read") == "replica" && (s.Maker == "local" && s.Options["replicas"] == int64(0) || clustered(s)) {
				return errors.New("read=replica needs replicas: redis.local(replicas = 1)")
			}
			return nil
		},
		CheckAction: func(s *spec.System, action string) error {
			if action == string(driver.Scan) && clustered(s) {
				return errors.New("a cluster of Redis can't do the operation scan: it has the keys in order on one node alone")
			}
			if (action == string(driver.BatchRead) || action == string(driver.BatchInsert)) && clustered(s) {
				return fmt.Errorf("a cluster of Redis can't do the operation %s: %w", action, errBatch)
			}
			return nil
		},
	}, Open: openSystem, Installed: installed}
}

// checkURL refuses a URL that stands in the script and holds a password, or that can't be read.
func checkURL(v any) error {
	text, ok := v.(string)
	if !ok {
		return nil // a secret: read when the run starts
	}
	if u, err := url.Parse(text); err == nil && u.User != nil {
		if _, with := u.User.Password(); with {
			return driver.PasswordInScript("REDIS_URL")
		}
	}
	if _, err := goredis.ParseURL(text); err != nil {
		return fmt.Errorf("is no URL of a Redis server: %w", err)
	}
	return nil
}

// protocolOf is the version of RESP that an option asks for.
func protocolOf(options map[string]any) int {
	n, _ := options["protocol"].(int64)
	return int(n)
}

// clustered says whether a system is a throwaway cluster.
func clustered(s *spec.System) bool { return s.Maker == "local" && s.Options["cluster"] != nil }

// checkNodes refuses replicas in a cluster.
func checkNodes(o map[string]any) error {
	if n, _ := o["replicas"].(int64); n > 0 && o["cluster"] != nil {
		return &spec.ParamError{Param: "replicas", Msg: "can't be added to a throwaway cluster"}
	}
	return nil
}

func checkSettings(v any) error {
	return sandbox.CheckSettings(v, "abcdefghijklmnopqrstuvwxyz0123456789-",
		"port", "bind", "dir", "daemonize", "requirepass", "unixsocket", "pidfile", "logfile", "databases", "masterauth", "cluster-enabled", "cluster-port", "cluster-config-file")
}

func openSystem(ctx context.Context, t driver.Target) (driver.System, error) {
	if t.System.Maker == "local" {
		return openLocal(ctx, t)
	}
	text, _ := t.Options["url"].(string)
	opt, err := goredis.ParseURL(text)
	if err != nil { // the text of the error may hold the URL
		return nil, &driver.Error{Class: driver.Other, Err: fmt.Errorf("the URL of %s can't be read", t.System.Name), Hint: "redis://user:password@host:6379/0"}
	}
	secure, err := driver.TLSConfig(t.Options)
	if err != nil {
		return nil, err
	}
	if secure != nil { // in place of what rediss:// says, which is to verify by the system's certificates
		if secure.ServerName, _, err = net.SplitHostPort(opt.Addr); err != nil {
			return nil, &driver.Error{Class: driver.Other, Err: fmt.Errorf("the address of %s: %w", t.System.Name, err)}
		}
		opt.TLSConfig = secure
	}
	opt.Protocol = protocolOf(t.Options)
	s := newSystem(opt, t.Log)
	if err := s.greet(ctx); err != nil {
		return nil, err
	}
	return s, nil
}
