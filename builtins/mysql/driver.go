package mysql

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	sqldriver "github.com/go-sql-driver/mysql"

	"sextant/interp/driver"
	"sextant/interp/driver/sandbox"
	"sextant/interp/spec"
)

// Driver describes MySQL and MariaDB.
func Driver() driver.Driver {
	return driver.Driver{SystemType: spec.SystemType{
		Name: "mysql",
		Ops:  driver.SQLActions(),
		CheckSize: func(_ *spec.System, z spec.Size) error {
			// A row is within half of a page of 16 KiB; texts are put elsewhere, which takes 20 bytes and their length each here.
			if n := 100 + 22*z.Fields; n > 8126 {
				return fmt.Errorf("a row of %d texts takes %d bytes of a page of InnoDB, which gives it 8126", z.Fields, n)
			}
			return nil
		},
		Doc: "MySQL from version 5.7 on and MariaDB from 10.4 on: one that exists, or a throwaway MariaDB from installed binaries, alone or as a Galera cluster.",
		Makers: []spec.Maker{
			{Name: "server", Doc: "a server that exists", Positional: 1, Check: driver.CheckTLS, Params: append([]spec.Param{
				{Name: "url", Kind: spec.KindSecret, Required: true, Check: checkURL,
					Doc: `mysql://user:password@host:3306/database: secret("MYSQL_URL"), or as text when it holds no password`}}, driver.TLSParams()...)},
			{Name: "local", Doc: "a throwaway MariaDB on loopback, removed at the end", Params: []spec.Param{
				{Name: "nodes", Kind: spec.KindInt, Default: int64(1), Check: checkNodes,
					Doc: "1; 3: a Galera cluster, whose nodes the clients take in turns"},
				{Name: "settings", Kind: spec.KindMap, Default: map[string]any{}, Check: checkSettings,
					Doc: `server settings beside MariaDB's defaults, such as {"innodb_buffer_pool_size": "1G"}`}}},
		},
		Levels: []spec.LevelSetting{
			{Name: "isolation", Doc: "SET SESSION TRANSACTION ISOLATION LEVEL on each session, read back from its variables", Values: spec.LevelValues(
				"read uncommitted", "reads see what is not committed",
				"read committed", "each statement sees what is committed when it begins",
				"repeatable read", "a transaction sees one snapshot; its writes see the newest rows",
				"serializable", "reads lock what they read")},
			{Name: "innodb_flush_log_at_trx_commit", Doc: "SET GLOBAL on the server (of all its clients), read back, put back at the end", Values: spec.LevelValues(
				"0", "the log is written and flushed about once a second: a crash of the server loses commits",
				"1", "a commit waits until its log is on the disk",
				"2", "a commit waits until its log is written, it is flushed about once a second: a crash of the machine loses commits")},
			{Name: "sync_binlog", Doc: "SET GLOBAL on the server, read back, put back at the end; refused without a binary log", Values: spec.LevelValues(
				"0", "the operating system flushes the binary log when it likes",
				"1", "a commit waits until the binary log is on the disk")},
			{Name: "wsrep_sync_wait", Doc: "SET SESSION on each session, read back; Galera only", Values: spec.LevelValues(
				"off", "reads see what their node has applied",
				"reads", "reads wait until their node has applied what was committed before (1)",
				"all", "reads and writes wait so (7)")},
		},
	}, Open: openSystem, Installed: installed}
}

const example = `mysql://user:password@host:3306/database`

// parseURL reads a URL into the settings of a connection. Its errors never hold the URL.
func parseURL(text string) (*sqldriver.Config, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "mysql" && u.Scheme != "mariadb" || u.Host == "" {
		return nil, errors.New("is no URL of a MySQL or MariaDB server: write " + example)
	}
	if u.RawQuery != "" {
		return nil, errors.New("has parameters: use the options of mysql.server instead")
	}
	cfg := sqldriver.NewConfig()
	cfg.Net, cfg.Addr = "tcp", u.Host
	if u.Port() == "" {
		cfg.Addr = net.JoinHostPort(u.Hostname(), "3306")
	}
	if u.User != nil {
		cfg.User = u.User.Username()
		cfg.Passwd, _ = u.User.Password()
	}
	cfg.DBName = strings.TrimPrefix(u.Path, "/")
	if cfg.DBName == "" || cfg.User == "" {
		return nil, errors.New("names no user or no database: write " + example)
	}
	return complete(cfg), nil
}

// complete sets what every connection of sextant has.
func complete(cfg *sqldriver.Config) *sqldriver.Config {
	cfg.ClientFoundRows = true // an update that changes nothing has found its row all the same
	cfg.InterpolateParams = false
	cfg.Timeout = 10 * time.Second
	cfg.MaxAllowedPacket = 1 << 30 // the server's own is what counts
	cfg.Collation = "utf8mb4_bin"
	cfg.Logger = silent{}
	return cfg
}

// silent drops what the library would print: its errors come back as errors.
type silent struct{}

func (silent) Print(...any) {}

// checkURL refuses a URL that stands in the script and holds a password, or that can't be read.
func checkURL(v any) error {
	text, ok := v.(string)
	if !ok {
		return nil // a secret: read when the run starts
	}
	if u, err := url.Parse(text); err == nil && u.User != nil {
		if _, with := u.User.Password(); with {
			return driver.PasswordInScript("MYSQL_URL")
		}
	}
	_, err := parseURL(text)
	return err
}

func checkNodes(v any) error {
	if n, ok := v.(int64); !ok || n != 1 && n != 3 {
		return fmt.Errorf("must be 1 or 3 (Galera needs an odd number to have a majority), not %v", v)
	}
	return nil
}

func checkSettings(v any) error {
	return sandbox.CheckSettings(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-",
		"port", "bind_address", "datadir", "socket", "pid_file", "skip_networking", "skip_grant_tables", "init_file", "user")
}

func openSystem(ctx context.Context, t driver.Target) (driver.System, error) {
	if t.System.Maker == "local" {
		return openLocal(ctx, t)
	}
	text, _ := t.Options["url"].(string)
	cfg, err := parseURL(text)
	if err != nil {
		return nil, &driver.Error{Class: driver.Other, Err: fmt.Errorf("the URL of %s %w", t.System.Name, err)}
	}
	host, _, err := net.SplitHostPort(cfg.Addr)
	if err != nil {
		return nil, &driver.Error{Class: driver.Other, Err: fmt.Errorf("the URL of %s has no host and port", t.System.Name)}
	}
	if cfg.TLS, err = driver.TLSConfig(t.Options); err != nil {
		return nil, err
	}
	if cfg.TLS != nil {
		cfg.TLS.ServerName = host
	}
	s := newSystem([]*sqldriver.Config{cfg}, t.Log)
	if err := s.greet(ctx); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}
