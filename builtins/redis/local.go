package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"sextant/interp/driver"
	"sextant/interp/driver/sandbox"
)

// server is a throwaway server and its data.
type server struct {
	box  *sandbox.Sandbox
	bin  string
	proc *sandbox.Server
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
	port, err := sandbox.FreePort()
	if err != nil {
		return nil, err
	}
	password := rand.Text()
	var b strings.Builder
	fmt.Fprintf(&b, "bind 127.0.0.1\nport %d\ndir %s\nrequirepass %s\nappendonly yes\nsave \"\"\ndaemonize no\n", port, c.box.Dir, password)
	for _, x := range sandbox.Settings(t.Options["settings"], "yes", "no") {
		fmt.Fprintf(&b, "%s %q\n", x[0], x[1])
	}
	if err := os.WriteFile(c.box.Path("redis.conf"), []byte(b.String()), 0o600); err != nil {
		return nil, fmt.Errorf("making a throwaway Redis: %w", err)
	}
	s := newSystem(&goredis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", port), Password: password}, t.Log)
	s.local = c
	if err := c.start(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}

// start runs the server and waits until it answers.
func (c *server) start(ctx context.Context, s *system) (err error) {
	// The file is named by its full path: Redis replaces its title in the process list, but the argument stays until then.
	cmd := c.box.Command(context.WithoutCancel(ctx), sandbox.Account{}, c.bin, c.box.Path("redis.conf"), "--set-proc-title", "no")
	if c.proc, err = c.box.Start(cmd, "server.log"); err != nil {
		return err
	}
	return sandbox.Startup{Servers: []*sandbox.Server{c.proc}, Name: sandbox.Named("the throwaway Redis"), Pending: "the throwaway Redis does not answer",
		Every: 20 * time.Millisecond, Ask: func() error { return s.greet(ctx) }}.Await(ctx)
}

func (c *server) remove() error {
	var err error
	if c.proc != nil {
		err = c.proc.Stop(syscall.SIGTERM, 10*time.Second)
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
