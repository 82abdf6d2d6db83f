package mongodb

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"sextant/interp/driver"
	"sextant/interp/driver/sandbox"
	"sextant/interp/spec"
)

// Driver describes MongoDB.
func Driver() driver.Driver {
	wtimeout := spec.Param{Name: "wtimeout", Kind: spec.KindDuration, Default: 10 * time.Second, Check: checkWtimeout,
		Doc: "how long a write waits for the members that its level asks for; then it is a time-out (the write is not undone)"}
	return driver.Driver{SystemType: spec.SystemType{
		Name: "mongodb",
		Doc:  "MongoDB from version 4.2 on, and servers of its protocol: one that exists, or a throwaway one from installed binaries.",
		Makers: []spec.Maker{
			{Name: "server", Doc: "a server, replica set or sharded cluster that exists", Positional: 1, Params: []spec.Param{
				{Name: "url", Kind: spec.KindSecret, Required: true, Check: checkURL,
					Doc: `mongodb://user:password@host:27017/database, with the options of MongoDB's connection strings: secret("MONGODB_URL"), or as text when it holds no password`},
				wtimeout}},
			{Name: "local", Doc: "a throwaway server on loopback, removed at the end: mongod, or where there is none SecantusDB, which is not MongoDB (the environment table says which)", Params: []spec.Param{
				{Name: "nodes", Kind: spec.KindInt, Default: int64(1), Check: checkNodes, Doc: "1, or 3 for a replica set of three; both are replica sets (mongod only)"},
				{Name: "settings", Kind: spec.KindMap, Default: map[string]any{}, Check: checkSettings,
					Doc: `options of the server's command line, such as {"wiredTigerCacheSizeGB": 0.5}`},
				wtimeout}},
		},
		Levels: []spec.LevelSetting{
			{Name: "w", Doc: "write concern, sent with each write", Values: spec.LevelValues(
				"0", "unacknowledged: a write is over when it is sent; how many were done is not known",
				"1", "the primary has the write", "2", "two members have it", "3", "three members have it",
				"majority", "more than half of the members have it")},
			{Name: "j", Doc: "write concern, sent with each write: on the disk", Values: spec.LevelValues(
				"false", "the members that w asks for have it in memory", "true", "they have it in their journal on the disk")},
			{Name: "read_concern", Doc: "sent with each read", Values: spec.LevelValues(
				"local", "the newest a member has, that may be rolled back", "available", "as local; on a sharded cluster also what is being moved",
				"majority", "what more than half of the members have", "linearizable", "what was true between the request and its reply",
				"snapshot", "what more than half of the members have, at one instant")},
			{Name: "read_preference", Doc: "which member reads go to", Values: spec.LevelValues(
				"primary", "the primary", "primaryPreferred", "the primary while there is one", "secondary", "a secondary",
				"secondaryPreferred", "a secondary while there is one", "nearest", "the member that answers soonest")},
		},
		CheckLevel: checkLevel,
		Ops:        driver.RecordActions(),
		CheckSize: func(_ *spec.System, z spec.Size) error {
			if most := int64(16<<20 - 64<<10); z.RowBytes > most {
				return fmt.Errorf("a document of %d bytes is more than MongoDB's 16 MiB", z.RowBytes)
			} else if z.RowBytes*int64(z.Batch) > 48_000_000-100_000 {
				return fmt.Errorf("a batch of %d documents of %d bytes is more than the 48,000,000 bytes of a message of MongoDB", z.Batch, z.RowBytes)
			}
			return nil
		},
	}, Open: openSystem, Installed: installed}
}

// checkLevel refuses what contradicts itself, without a server.
func checkLevel(_ *spec.System, l spec.Level) error {
	if l.Get("w") == "0" && l.Get("j") == "true" {
		return errors.New("w=0 waits for nothing, so j=true has no meaning")
	}
	if rc := l.Get("read_concern"); rc == "linearizable" && l.Get("read_preference") != "" && l.Get("read_preference") != "primary" {
		return errors.New("linearizable reads go to the primary")
	}
	return nil
}

func checkWtimeout(v any) error {
	if d, ok := v.(time.Duration); !ok || d < time.Millisecond {
		return errors.New("must be at least 1ms")
	}
	return nil
}

func checkNodes(v any) error {
	if n, ok := v.(int64); !ok || n != 1 && n != 3 {
		return fmt.Errorf("must be 1 or 3 (a replica set needs an odd number to have a majority), not %v", v)
	}
	return nil
}

func checkSettings(v any) error {
	return sandbox.CheckSettings(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-", "port", "bind_ip", "dbpath", "replSet", "host", "storage-path", "fork", "auth")
}

const example = `mongodb://user:password@host:27017/database`

// checkURL refuses a URL that stands in the script and holds a password, or that can't be read.
func checkURL(v any) error {
	text, ok := v.(string)
	if !ok {
		return nil // a secret: read when the run starts
	}
	if i := strings.LastIndexByte(text, '@'); i >= 0 && strings.Contains(text[:i], "://") {
		_, user, _ := strings.Cut(text[:i], "://")
		if strings.Contains(user, ":") {
			return driver.PasswordInScript("MONGODB_URL")
		}
	}
	if _, err := connstring.Parse(text); err != nil && !strings.HasPrefix(text, "mongodb+srv://") { // that asks a name server
		return fmt.Errorf("is no connection string of MongoDB: %w", err)
	}
	return nil
}

// clientOptions are what every connection of sextant has.
func clientOptions(text string) *options.ClientOptions {
	return options.Client().ApplyURI(text).SetAppName("sextant").SetRetryReads(false).SetRetryWrites(false).SetMaxAdaptiveRetries(0).
		SetMaxPoolSize(0).SetMaxConnecting(16).SetServerSelectionTimeout(5 * time.Second).SetReadPreference(readpref.Primary())
}

func openSystem(ctx context.Context, t driver.Target) (driver.System, error) {
	wtimeout, _ := t.Options["wtimeout"].(time.Duration)
	if t.System.Maker == "local" {
		return openLocal(ctx, t, wtimeout)
	}
	text, _ := t.Options["url"].(string)
	cs, err := connstring.ParseAndValidate(text)
	if err != nil { // the text of the error may hold the URL
		return nil, &driver.Error{Class: driver.Other, Err: fmt.Errorf("the URL of %s can't be read", t.System.Name), Hint: example}
	}
	s := &system{url: text, log: t.Log, database: cs.Database, user: cs.Username, address: strings.Join(cs.Hosts, ", "), wtimeout: wtimeout}
	if s.database == "" {
		s.database = "sextant"
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

// localURL is the connection string of throwaway servers.
func localURL(ports []int, set string) string {
	var hosts []string
	for _, p := range ports {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", p))
	}
	q := url.Values{}
	if set != "" {
		q.Set("replicaSet", set)
	} else {
		q.Set("directConnection", "true")
	}
	return "mongodb://" + strings.Join(hosts, ",") + "/sextant?" + q.Encode()
}
