package mongodb

import (
	"testing"
	"time"

	"sextant/interp/driver/drivertest"
	"sextant/interp/spec"
)

// need skips a test on a machine without a server of MongoDB's protocol, or fails it where one is required.
func need(t testing.TB) {
	t.Helper()
	_, err := installed(t.Context())
	drivertest.Need(t, err)
}

func local(t testing.TB) *system {
	t.Helper()
	need(t)
	return drivertest.Local(t, Driver(), map[string]any{"nodes": int64(1), "wtimeout": 2 * time.Second}).(*system)
}

func config(maker string, options map[string]any, secrets ...string) drivertest.Config {
	return drivertest.Config{
		Driver: Driver(), System: &spec.System{Type: "mongodb", Maker: maker, Name: "mongodb", Options: options}, Options: options, Secrets: secrets,
		Levels: []string{"w=0", "1", "majority", "j=true", "w=1+j=false", "majority+j=true", "local", "available", "read_concern=majority", "linearizable", "snapshot",
			"primaryPreferred", "nearest", "secondaryPreferred", "majority+j=true+read_concern=majority+primary"},
		Refused: []string{"w=2", "w=3", "secondary"},
		Foreign: []string{`{"insert": "usertable", "documents": [{"_id": "mine"}]}`},
		Count:   `{"count": "usertable"}`, Value: `{"find": "usertable", "filter": {"_id": "?"}, "projection": {"_id": 0, "field1": 1}}`,
	}
}

func TestLocal(t *testing.T) {
	need(t)
	drivertest.Run(t, config("local", map[string]any{"nodes": int64(1), "wtimeout": 10 * time.Second}))
}
