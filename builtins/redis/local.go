package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"sextant/interp/driver"
	"sextant/interp/driver/sandbox"
)

// server is a throwaway server with its replicas, or a cluster, and its data.
type server struct {
	box     *sandbox.Sandbox
	bin     string
	cluster bool
	nodes   []*node // the first is the primary
}

// node is one process.
type node struct {
	name      string
	port, bus int
	proc      *sandbox.Server
}

// binary finds the installed server.
func binary() (string, error) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if p, err := exec.LookPath(name); err == nil {
			return p, nil
		}
	}
	return "", &driver.Error{Class: driver.NotFound, Code: driver.NotInstalled, Err: errors.New("redis.local() needs redis-server, which is not installed"),
		Hint: "install it, on Debian: apt-get install redis-server"}
}

func openLocal(ctx context.Context, t driver.Target) (_ driver.System, err error) {
	c := &server{}
	if c.bin, err = binary(); err != nil {
		return nil, err
	}
	if c.box, err = sandbox.New("redis"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.remove())
		}
	}()
	replicas, _ := t.Options["replicas"].(int64)
	primaries, _ := t.Options["cluster"].(int64)
	c.cluster = primaries > 0
	password := rand.Text()
	for i := range int(max(primaries, 1+replicas)) {
		if err := c.add(i, password, sandbox.Settings(t.Options["settings"], "yes", "no")); err != nil {
			return nil, fmt.Errorf("making a throwaway Redis: %w", err)
		}
	}
	s := newSystem(&goredis.Options{Addr: c.addr(0), Password: password, Protocol: protocolOf(t.Options)}, t.Log)
	s.local = c
	for _, n := range c.nodes {
		if err := c.start(n); err != nil {
			return nil, err
		}
	}
	if c.cluster {
		if err := c.join(ctx, s); err != nil {
			return nil, fmt.Errorf("making a throwaway cluster of Redis: %w", err)
		}
	}
	if err := c.await(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}

func (c *server) addr(i int) string { return fmt.Sprintf("127.0.0.1:%d", c.nodes[i].port) }

// add writes the configuration of one more node. Those behind the first are its replicas, when there is no cluster.
func (c *server) add(i int, password string, settings [][2]string) error {
	n := &node{name: fmt.Sprintf("redis%d", i)}
	var err error
	if n.port, err = sandbox.FreePort(); err != nil {
		return err
	}
	dir := c.box.Path(n.name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "bind 127.0.0.1\nport %d\ndir %s\nrequirepass %s\nmasterauth %s\nappendonly yes\nsave \"\"\ndaemonize no\n", n.port, dir, password, password)
	if c.cluster {
		if n.bus, err = sandbox.FreePort(); err != nil {
			return err
		}
		fmt.Fprintf(&b, "cluster-enabled yes\ncluster-port %d\n", n.bus)
	} else if len(c.nodes) > 0 {
		fmt.Fprintf(&b, "replicaof 127.0.0.1 %d\n", c.nodes[0].port)
	} else {
		b.WriteString("repl-diskless-sync-delay 0\n") // else a replica joins after five seconds
	}
	for _, x := range settings {
		fmt.Fprintf(&b, "%s %q\n", x[0], x[1])
	}
	c.nodes = append(c.nodes, n)
	return os.WriteFile(c.box.Path(n.name+".conf"), []byte(b.String()), 0o600)
}

// start runs a node.
func (c *server) start(n *node) (err error) {
	// The file is named by its full path: Redis replaces its title in the process list, but the argument stays until then.
	cmd := c.box.Command(context.Background(), sandbox.Account{}, c.bin, c.box.Path(n.name+".conf"), "--set-proc-title", "no")
	n.proc, err = c.box.Start(cmd, n.name+".log")
	return err
}

// await waits until the server answers, with all its replicas or nodes.
func (c *server) await(ctx context.Context, s *system) error {
	return c.until(ctx, func() error {
		if err := s.greet(ctx); err != nil {
			return err
		}
		if m := s.slotMap.Load(); c.cluster && (m == nil || len(m.nodes) != len(c.nodes)) {
			return errors.New("the cluster is not complete")
		}
		online := 0
		for _, r := range s.replicas {
			if r.online {
				online++
			}
		}
		if !c.cluster && online != len(c.nodes)-1 {
			return fmt.Errorf("%d of %d replicas are online", online, len(c.nodes)-1)
		}
		return s.every(ctx, func(x *wire) error { // each node of a cluster must see it whole
			if !c.cluster {
				return nil
			}
			v, err := x.call("CLUSTER", "INFO")
			if err == nil && !strings.Contains(fmt.Sprint(v), "cluster_state:ok") {
				err = errors.New("a node does not see the cluster whole")
			}
			return err
		})
	})
}

func (c *server) until(ctx context.Context, ask func() error) error {
	var procs []*sandbox.Server
	for _, n := range c.nodes {
		procs = append(procs, n.proc)
	}
	return sandbox.Startup{Servers: procs, Name: sandbox.Named("the throwaway Redis"), Pending: "the throwaway Redis does not answer",
		Every: 20 * time.Millisecond, Ask: ask}.Await(ctx)
}

// join makes a cluster of the nodes: each gets its share of the hash slots, and the others are told of the first.
func (c *server) join(ctx context.Context, s *system) error {
	for i := range c.nodes {
		var x *wire
		err := c.until(ctx, func() (err error) {
			x, err = s.connect(ctx, c.addr(i))
			return err
		})
		if err != nil {
			return err
		}
		share := []string{"CLUSTER", "ADDSLOTS"}
		for n := slots * i / len(c.nodes); n < slots*(i+1)/len(c.nodes); n++ {
			share = append(share, strconv.Itoa(n))
		}
		_, err = x.call(share...)
		if err == nil {
			_, err = x.call("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		}
		if err == nil && i > 0 {
			_, err = x.call("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(c.nodes[0].port), strconv.Itoa(c.nodes[0].bus))
		}
		if err = errors.Join(err, x.conn.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (c *server) remove() error {
	var err error
	for _, n := range c.nodes {
		if n.proc != nil { // its data go with it; told to end, it would wait for its replicas
			err = errors.Join(err, n.proc.Stop(syscall.SIGKILL, 10*time.Second))
		}
	}
	return errors.Join(err, c.box.Remove())
}

// installed names the server.
func installed(ctx context.Context) (string, error) {
	bin, err := binary()
	if err != nil {
		return "", err
	}
	return sandbox.Version(ctx, bin, "--version")
}
