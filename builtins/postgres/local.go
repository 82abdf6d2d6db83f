package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"sextant/interp/driver"
	"sextant/interp/driver/sandbox"
	"sextant/interp/spec"
)

// cluster is a throwaway server and its data.
type cluster struct {
	box     *sandbox.Sandbox
	account sandbox.Account
	bin     string
	major   int
	server  *sandbox.Server
	// standbys of the server, with their folders beside its own.
	standbys []*standby
}

// installation is one installed PostgreSQL.
type installation struct {
	bin   string
	major int
}

// installations finds the installed versions, the newest first.
func installations(ctx context.Context) []installation {
	dirs := []string{}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin"} {
		found, err := filepath.Glob(pattern)
		if err == nil {
			dirs = append(dirs, found...)
		}
	}
	if p, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	slices.Sort(dirs)
	var out []installation
	for _, d := range slices.Compact(dirs) {
		if _, err := os.Stat(filepath.Join(d, "initdb")); err != nil {
			continue
		}
		text, err := exec.CommandContext(ctx, filepath.Join(d, "postgres"), "--version").Output()
		if err != nil {
			continue
		}
		_, v, ok := strings.Cut(string(text), "(PostgreSQL) ")
		major, _, _ := strings.Cut(strings.Fields(v + " 0")[0], ".")
		n, err := strconv.Atoi(leadingDigits(major))
		if ok && err == nil && n >= oldest {
			out = append(out, installation{d, n})
		}
	}
	slices.SortStableFunc(out, func(a, b installation) int { return b.major - a.major })
	return out
}

// leadingDigits cuts "17beta1" to "17".
func leadingDigits(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}

// choose finds the asked version.
func choose(ctx context.Context, version any) (installation, error) {
	all := installations(ctx)
	var have []string
	for _, in := range all {
		if version == nil || spec.Display(version) == strconv.Itoa(in.major) {
			return in, nil
		}
		have = append(have, strconv.Itoa(in.major))
	}
	what, hint := "PostgreSQL", "install it, on Debian: apt-get install postgresql"
	if version != nil {
		what = "PostgreSQL " + spec.Display(version)
		hint = fmt.Sprintf("install it, on Debian: apt-get install postgresql-%s", spec.Display(version))
	}
	if have != nil {
		hint += "; installed are " + strings.Join(have, ", ")
	}
	return installation{}, &driver.Error{Class: driver.NotFound, Code: driver.NotInstalled, Err: fmt.Errorf("postgres.local() needs %s, which is not installed", what), Hint: hint}
}

func openLocal(ctx context.Context, t driver.Target) (_ driver.System, err error) {
	in, err := choose(ctx, t.Options["version"])
	if err != nil {
		return nil, err
	}
	c := &cluster{bin: in.bin, major: in.major}
	if c.account, err = sandbox.Unprivileged("postgres", "nobody"); err != nil {
		return nil, &driver.Error{Class: driver.Auth, Err: err}
	}
	if c.box, err = sandbox.New("postgres"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.remove())
		}
	}()
	password := rand.Text()
	if err := c.initialize(ctx, password); err != nil {
		return nil, err
	}
	port, err := sandbox.FreePort()
	if err != nil {
		return nil, err
	}
	if err := c.configure(port, sandbox.Settings(t.Options["settings"], "on", "off")); err != nil {
		return nil, err
	}
	cfg, err := pgconn.ParseConfig(fmt.Sprintf("host=127.0.0.1 port=%d user=sextant dbname=postgres sslmode=disable password=%s", port, password))
	if err != nil {
		return nil, errors.New("making the connection string of the throwaway server failed")
	}
	s := newSystem(cfg, t.Log)
	s.local = c
	if err := c.start(ctx, s); err != nil {
		return nil, err
	}
	n, _ := t.Options["standbys"].(int64)
	if n > 0 {
		if err := c.addStandbys(ctx, s, int(n), t.Options["synchronous"]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// initialize makes the cluster's files, as a user that the server accepts.
func (c *cluster) initialize(ctx context.Context, password string) error {
	data, pw := c.box.Path("data"), c.box.Path("pw")
	if err := os.Mkdir(data, 0o700); err != nil {
		return fmt.Errorf("making a throwaway PostgreSQL: %w", err)
	}
	if err := os.WriteFile(pw, []byte(password+"\n"), 0o600); err != nil {
		return fmt.Errorf("making a throwaway PostgreSQL: %w", err)
	}
	if err := errors.Join(c.account.Give(data), c.account.Give(pw)); err != nil {
		return fmt.Errorf("making a throwaway PostgreSQL: %w", err)
	}
	cmd := c.box.Command(ctx, c.account, filepath.Join(c.bin, "initdb"), "-D", data, "-U", "sextant", "--pwfile="+pw,
		"--auth=scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, sandbox.LastLines(string(out), 3))
	}
	return os.Remove(pw)
}

func (c *cluster) configure(port int, settings [][2]string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\nlisten_addresses = '127.0.0.1'\nport = %d\nunix_socket_directories = ''\nlogging_collector = off\n", port)
	for _, x := range settings {
		fmt.Fprintf(&b, "%s = '%s'\n", x[0], strings.ReplaceAll(x[1], "'", "''"))
	}
	f, err := os.OpenFile(c.box.Path("data/postgresql.conf"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("configuring a throwaway PostgreSQL: %w", err)
	}
	_, err = f.WriteString(b.String())
	return errors.Join(err, f.Close())
}

// start runs the server and waits until it takes connections.
func (c *cluster) start(ctx context.Context, s *system) (err error) {
	for {
		cmd := c.box.Command(context.WithoutCancel(ctx), c.account, filepath.Join(c.bin, "postgres"), "-D", c.box.Path("data"))
		if c.server, err = c.box.Start(cmd, "server.log"); err != nil {
			return err
		}
		err = c.ready(ctx, s)
		// After a kill, the old server's processes may still be on their way out.
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "still in use") {
			return err
		}
	}
}

func (c *cluster) ready(ctx context.Context, s *system) error {
	return sandbox.Startup{Servers: []*sandbox.Server{c.server}, Name: sandbox.Named("the throwaway PostgreSQL"), Pending: "the throwaway PostgreSQL takes no connections",
		Every: 30 * time.Millisecond, Ask: func() error { return s.greet(ctx) }}.Await(ctx)
}

// remove stops the server (SIGINT: fast shutdown) and removes everything.
func (c *cluster) remove() error {
	var err error
	for _, b := range c.standbys {
		if b.proc != nil {
			err = errors.Join(err, b.proc.Stop(syscall.SIGQUIT, 10*time.Second)) // its data go with it
		}
	}
	if c.server != nil {
		err = errors.Join(err, c.server.Stop(syscall.SIGINT, 10*time.Second))
	}
	return errors.Join(err, c.box.Remove())
}

// installed names the newest installed version.
func installed(ctx context.Context) (string, error) {
	in, err := choose(ctx, nil)
	if err != nil {
		return "", err
	}
	return sandbox.Version(ctx, filepath.Join(in.bin, "postgres"), "--version")
}
