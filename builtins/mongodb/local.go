package mongodb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"sextant/interp/driver"
	"sextant/interp/driver/sandbox"
	"sextant/interp/spec"
)

// setName is the name of throwaway replica sets.
const setName = "sextant"

// servers are throwaway servers and their data.
type servers struct {
	box      *sandbox.Sandbox
	bin      string
	mongod   bool // else SecantusDB
	settings []string
	ports    []int
	procs    []*sandbox.Server
}

// find looks for mongod, then for SecantusDB's program, which Python's installers put beside their interpreter.
func find() (bin string, mongod bool, err error) {
	if p, err := exec.LookPath("mongod"); err == nil {
		return p, true, nil
	}
	if p, err := exec.LookPath("secantusd-py"); err == nil {
		return p, false, nil
	}
	if c, err := os.UserCacheDir(); err == nil {
		p := filepath.Join(c, "sextant", "secantusdb", "bin", "secantusd-py")
		if sandbox.IsFile(p) {
			return p, false, nil
		}
	}
	return "", false, &driver.Error{Class: driver.NotFound, Code: driver.NotInstalled, Err: errors.New("mongodb.local() needs mongod (or SecantusDB's secantusd-py), which is not installed"),
		Hint: "install MongoDB Community Server, or name a server: mongodb.server(url = ...)"}
}

func openLocal(ctx context.Context, t driver.Target, wtimeout time.Duration) (_ driver.System, err error) {
	c := &servers{}
	if c.bin, c.mongod, err = find(); err != nil {
		return nil, err
	}
	n, _ := t.Options["nodes"].(int64)
	if n = max(n, 1); n > 1 && !c.mongod {
		return nil, &driver.Error{Class: driver.NotFound, Code: driver.NotInstalled, Err: fmt.Errorf("mongodb.local(nodes = %d) needs mongod, which is not installed", n), Hint: "SecantusDB has one node only"}
	}
	if c.box, err = sandbox.New("mongodb"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.remove())
		}
	}()
	settings, _ := t.Options["settings"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		c.settings = append(c.settings, "--"+name)
		if on, ok := settings[name].(bool); !ok {
			c.settings = append(c.settings, spec.Display(settings[name]))
		} else if !on {
			c.settings = c.settings[:len(c.settings)-1]
		}
	}
	for range n {
		port, err := sandbox.FreePort()
		if err != nil {
			return nil, err
		}
		c.ports = append(c.ports, port)
	}
	c.procs = make([]*sandbox.Server, n)
	set := setName
	if !c.mongod {
		set = ""
	}
	s := &system{url: localURL(c.ports, set), log: t.Log, database: "sextant", address: fmt.Sprintf("127.0.0.1:%d", c.ports[0]), wtimeout: wtimeout, local: c}
	if err := c.start(ctx, s); err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

// start starts the servers that don't run, makes the replica set once, and waits for its primary.
func (c *servers) start(ctx context.Context, s *system) error {
	for i, p := range c.procs {
		if p != nil && p.Alive() {
			continue
		}
		dir := c.box.Path(fmt.Sprintf("n%d", i+1))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("making a throwaway MongoDB: %w", err)
		}
		args := []string{"--port", fmt.Sprint(c.ports[i])}
		if c.mongod {
			args = append(args, "--bind_ip", "127.0.0.1", "--dbpath", dir, "--replSet", setName)
		} else {
			args = append(args, "--host", "127.0.0.1", "--storage-path", dir, "--log-level", "WARNING")
		}
		cmd := c.box.Command(context.WithoutCancel(ctx), sandbox.Account{}, c.bin, append(args, c.settings...)...)
		var err error
		if c.procs[i], err = c.box.Start(cmd, fmt.Sprintf("n%d.log", i+1)); err != nil {
			return err
		}
	}
	return sandbox.Startup{Servers: c.procs, Name: sandbox.Named("the throwaway MongoDB"), Pending: "the throwaway MongoDB is not ready",
		Every: 50 * time.Millisecond, Ask: func() error { return c.ready(ctx, s) }}.Await(ctx)
}

// ready makes the replica set where there is none yet, and asks for a writable primary.
func (c *servers) ready(ctx context.Context, s *system) error {
	direct, err := mongo.Connect(clientOptions(localURL(c.ports[:1], "")).SetServerSelectionTimeout(500 * time.Millisecond))
	if err != nil {
		return err
	}
	defer direct.Disconnect(context.WithoutCancel(ctx)) //nolint:errcheck // it was only asked
	hello, err := direct.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Raw()
	if err != nil {
		return err
	}
	if _, set := hello.Lookup("setName").StringValueOK(); !set && c.mongod {
		var members bson.A
		for i, p := range c.ports {
			members = append(members, bson.D{{Key: "_id", Value: i}, {Key: "host", Value: fmt.Sprintf("127.0.0.1:%d", p)}})
		}
		cfg := bson.D{{Key: "_id", Value: setName}, {Key: "members", Value: members}}
		if _, err := direct.Database("admin").RunCommand(ctx, bson.D{{Key: "replSetInitiate", Value: cfg}}).Raw(); err != nil {
			return err
		}
	}
	whole, err := mongo.Connect(clientOptions(s.url).SetServerSelectionTimeout(500 * time.Millisecond))
	if err != nil {
		return err
	}
	defer whole.Disconnect(context.WithoutCancel(ctx)) //nolint:errcheck // it was only asked
	_, err = whole.Database("sextant").RunCommand(ctx, bson.D{{Key: "ping", Value: 1}}).Raw()
	return err
}

func (c *servers) processes() []int {
	var out []int
	for _, p := range c.procs {
		out = append(out, p.Processes()...)
	}
	return out
}

func (c *servers) alive() bool {
	return !slices.ContainsFunc(c.procs, func(p *sandbox.Server) bool { return p == nil || !p.Alive() })
}

// remove stops the servers and removes everything.
func (c *servers) remove() error {
	var err error
	for _, p := range c.procs {
		if p != nil && p.Alive() {
			err = errors.Join(err, p.Stop(syscall.SIGTERM, 5*time.Second))
		}
	}
	return errors.Join(err, c.box.Remove())
}

// installed names the server.
func installed(ctx context.Context) (string, error) {
	bin, mongod, err := find()
	switch {
	case err != nil:
		return "", err
	case mongod:
		return sandbox.Version(ctx, bin, "--version")
	}
	return "SecantusDB (one node, not MongoDB): install mongod for MongoDB itself", nil
}
