package cassandra

import (
	"testing"

	"sextant/interp/driver/drivertest"
	"sextant/interp/spec"
)

// need skips a test on a machine without Cassandra, or fails it where one is required.
func need(t testing.TB) {
	t.Helper()
	_, err := installed(t.Context())
	drivertest.Need(t, err)
}

func local(t testing.TB, options map[string]any) *system {
	t.Helper()
	need(t)
	for k, v := range map[string]any{"nodes": int64(1), "datacenters": int64(1), "replication": int64(1), "connections": int64(2), "heap": "512M"} {
		if options[k] == nil {
			options[k] = v
		}
	}
	return drivertest.Local(t, Driver(), options).(*system)
}

func config(maker string, options map[string]any, secrets ...string) drivertest.Config {
	return drivertest.Config{
		Driver: Driver(), System: &spec.System{Type: "cassandra", Maker: maker, Name: "cassandra", Options: options}, Options: options, Secrets: secrets,
		Levels:  []string{"one", "quorum", "all", "local_one", "local_quorum", "each_quorum", "read=one+write=all", "write=any", "read=local_quorum", "read=serial", "serial=serial", "serial=local_serial", "read=local_serial+serial=local_serial"},
		Refused: []string{"two", "three", "read=two", "one+write=all"}, Upserts: true, Blind: true, TokenOrder: true,
		Foreign: []string{"CREATE TABLE usertable (k text PRIMARY KEY)", "INSERT INTO usertable (k) VALUES ('mine')"},
		Count:   "SELECT count(*) FROM usertable", Value: "SELECT field1 FROM usertable WHERE ycsb_key = ?",
	}
}

func TestLocal(t *testing.T) {
	need(t)
	drivertest.Run(t, config("local", map[string]any{"nodes": int64(1), "datacenters": int64(1), "replication": int64(1), "connections": int64(1), "heap": "512M"}))
}
