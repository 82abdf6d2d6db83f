package postgres

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"sextant/interp/driver"
	"sextant/interp/driver/sandbox"
	"sextant/interp/spec"
)

// Driver describes PostgreSQL.
func Driver() driver.Driver {
	return driver.Driver{SystemType: spec.SystemType{
		Name: "postgres",
		Ops:  driver.SQLActions(),
		CheckSize: func(_ *spec.System, z spec.Size) error {
			// A row is within a page of 8 KiB; long values are put elsewhere, which takes 18 bytes each here (TOAST).
			if n := 48 + int64(z.Fields)/8 + int64(z.Fields)*min(z.FieldBytes+1, 18); n > 8160 {
				return fmt.Errorf("a row of %d fields of %d bytes takes %d bytes of a page of PostgreSQL, which has 8160", z.Fields, z.FieldBytes, n)
			}
			return nil
		},
		Doc: "PostgreSQL from version 12 on: one that exists, or a throwaway cluster from installed binaries.",
		Makers: []spec.Maker{
			{Name: "server", Doc: "a server that exists", Positional: 1, Params: []spec.Param{
				{Name: "url", Kind: spec.KindSecret, Required: true, Check: checkURL,
					Doc: `connection string as of libpq: secret("PG_URL"), or as text when it holds no password`},
				{Name: "standby", Kind: spec.KindSecret, Check: checkURL, Doc: "connection string of a standby, for the level read=standby"}}},
			{Name: "local", Doc: "a throwaway cluster on loopback, removed at the end", Check: checkStandbys, Params: []spec.Param{
				{Name: "version", Kind: spec.KindAny, Doc: "major version such as 15; None is the newest installed", Check: checkVersion},
				{Name: "standbys", Kind: spec.KindInt, Default: int64(0), Check: spec.Between(0, 5), Doc: "standbys that replay the server's log"},
				{Name: "synchronous", Kind: spec.KindString, Check: checkSynchronous, Doc: `which of them commits wait for at remote_write, on and remote_apply: "any 1", "first 2"; without, for none`},
				{Name: "settings", Kind: spec.KindMap, Default: map[string]any{}, Check: checkSettings,
					Doc: `server settings beside PostgreSQL's defaults, such as {"shared_buffers": "1GB"}`}}},
		},
		Levels: []spec.LevelSetting{
			{Name: "synchronous_commit", Doc: "SET synchronous_commit on each session, read back with current_setting", Values: spec.LevelValues(
				"off", "a commit returns before its log is on the disk: a crash loses the last ones",
				"local", "a commit waits for the own disk, not for standbys",
				"remote_write", "a commit waits until the synchronous standby has handed the log to its operating system",
				"on", "a commit waits for the disk, also of a synchronous standby if there is one",
				"remote_apply", "a commit waits until the synchronous standby shows it to queries")},
			{Name: "isolation", Doc: "SET default_transaction_isolation on each session, read back as transaction_isolation", Values: spec.LevelValues(
				"read committed", "each statement sees what is committed when it begins",
				"repeatable read", "a transaction sees one snapshot; a write to a row that changed since is a conflict",
				"serializable", "transactions behave as one after the other; what can't is a conflict")},
			{Name: "read", Doc: "where operations that only read go, read back with pg_is_in_recovery; how far standbys are behind stands in server_counters", Values: spec.LevelValues(
				"primary", "the server itself", "standby", "a standby, another one for each client: what it gives may be old")},
		},
	}, Open: openSystem, Installed: installed}
}

// checkURL refuses a connection string that stands in the script and holds a password, or that can't be read.
func checkURL(v any) error {
	text, ok := v.(string)
	if !ok {
		return nil // a secret: read when the run starts
	}
	withPassword := false
	if u, err := url.Parse(text); err == nil && u.User != nil {
		_, withPassword = u.User.Password()
	}
	for _, f := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '&' || r == '?' }) {
		withPassword = withPassword || strings.HasPrefix(strings.ToLower(f), "password=")
	}
	if withPassword {
		return driver.PasswordInScript("PG_URL")
	}
	if _, err := pgconn.ParseConfig(text); err != nil {
		return fmt.Errorf("is no connection string: %w", err)
	}
	return nil
}

func checkVersion(v any) error {
	if v == nil {
		return nil
	}
	if n, err := strconv.Atoi(spec.Display(v)); err != nil || n < oldest {
		return fmt.Errorf("must be a major version from %d on, such as 15, not %s", oldest, spec.Display(v))
	}
	return nil
}

// oldest is the oldest major version that is measured.
const oldest = 12

func checkSettings(v any) error {
	return sandbox.CheckSettings(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.",
		"port", "listen_addresses", "unix_socket_directories", "data_directory", "hba_file", "ident_file", "synchronous_standby_names", "primary_conninfo")
}

func openSystem(ctx context.Context, t driver.Target) (driver.System, error) {
	if t.System.Maker == "local" {
		return openLocal(ctx, t)
	}
	text, _ := t.Options["url"].(string)
	cfg, err := pgconn.ParseConfig(text)
	if err != nil {
		return nil, &driver.Error{Class: driver.Other, Err: fmt.Errorf("the connection string of %s can't be read: %w", t.System.Name, err),
			Hint: "postgres://user:password@host:5432/database"}
	}
	s := newSystem(cfg, t.Log)
	if text, _ := t.Options["standby"].(string); text != "" {
		at, err := pgconn.ParseConfig(text)
		if err != nil {
			return nil, &driver.Error{Class: driver.Other, Err: fmt.Errorf("the connection string of the standby of %s can't be read: %w", t.System.Name, err)}
		}
		at.RuntimeParams["application_name"] = "sextant"
		s.standbys = []*standby{{cfg: at}}
	}
	if err := s.greet(ctx); err != nil {
		return nil, err
	}
	return s, nil
}
