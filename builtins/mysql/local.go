package mysql

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	sqldriver "github.com/go-sql-driver/mysql"

	"sextant/interp/driver"
	"sextant/interp/driver/sandbox"
)

// cluster is a throwaway server, or three of them, and their data.
type cluster struct {
	box      *sandbox.Sandbox
	account  sandbox.Account
	bin      string // mariadbd
	galera   string // its library; "" without a cluster
	settings []string
	nodes    []node
}

// node is one server of the cluster.
type node struct {
	name                    string
	port, group, ist, state int // SQL; Galera's group, incremental and full state transfers
	proc                    *sandbox.Server
}

// find looks for a program in PATH and where packages put servers.
func find(names ...string) (string, bool) {
	for _, n := range names {
		if p, err := exec.LookPath(n); err == nil {
			return p, true
		}
		for _, dir := range []string{"/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/usr/local/mysql/bin"} {
			if p := filepath.Join(dir, n); sandbox.IsFile(p) {
				return p, true
			}
		}
	}
	return "", false
}

// galeraLibrary finds the library of Galera and what its state transfer needs.
func galeraLibrary() (string, error) {
	for _, p := range []string{"/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so", "/usr/lib64/galera/libgalera_smm.so", "/usr/lib/galera-4/libgalera_smm.so", "/usr/lib/libgalera_smm.so"} {
		if sandbox.IsFile(p) {
			if _, ok := find("rsync"); !ok {
				return "", &driver.Error{Class: driver.NotFound, Code: driver.NotInstalled, Err: errors.New("mysql.local(nodes = 3) needs rsync, which is not installed"), Hint: "on Debian: apt-get install rsync"}
			}
			return p, nil
		}
	}
	return "", &driver.Error{Class: driver.NotFound, Code: driver.NotInstalled, Err: errors.New("mysql.local(nodes = 3) needs Galera's library, which is not installed"), Hint: "on Debian: apt-get install galera-4 rsync"}
}

func openLocal(ctx context.Context, t driver.Target) (_ driver.System, err error) {
	c := &cluster{}
	install, ok := find("mariadb-install-db", "mysql_install_db")
	if c.bin, _ = find("mariadbd", "mysqld"); c.bin == "" || !ok {
		return nil, notInstalled()
	}
	n, _ := t.Options["nodes"].(int64)
	if n > 1 {
		if c.galera, err = galeraLibrary(); err != nil {
			return nil, err
		}
	}
	if c.account, err = sandbox.Unprivileged("mysql", "nobody"); err != nil {
		return nil, &driver.Error{Class: driver.Auth, Err: err}
	}
	if c.box, err = sandbox.New("mysql"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.remove())
		}
	}()
	for _, x := range sandbox.Settings(t.Options["settings"], "ON", "OFF") {
		c.settings = append(c.settings, fmt.Sprintf("--%s=%s", x[0], x[1]))
	}
	password := rand.Text()
	if err := c.prepare(ctx, install, password, int(max(n, 1))); err != nil {
		return nil, err
	}
	var configs []*sqldriver.Config
	for _, x := range c.nodes {
		cfg := sqldriver.NewConfig()
		cfg.Net, cfg.Addr, cfg.User, cfg.Passwd, cfg.DBName = "tcp", fmt.Sprintf("127.0.0.1:%d", x.port), "sextant", password, "sextant"
		configs = append(configs, complete(cfg))
	}
	s := newSystem(configs, t.Log)
	s.local = c
	if err := c.start(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}

// prepare makes the files of the first node and empty folders for the others.
func (c *cluster) prepare(ctx context.Context, install, password string, n int) error {
	for i := range n {
		x := node{name: fmt.Sprintf("n%d", i+1)}
		for _, p := range []*int{&x.port, &x.group, &x.ist, &x.state} {
			var err error
			if *p, err = sandbox.FreePort(); err != nil {
				return err
			}
		}
		data := c.box.Path(x.name)
		if err := errors.Join(os.Mkdir(data, 0o700), c.account.Give(data)); err != nil {
			return fmt.Errorf("making a throwaway MariaDB: %w", err)
		}
		c.nodes = append(c.nodes, x)
	}
	// one statement a line, as --init-file wants it
	init := fmt.Sprintf("CREATE DATABASE IF NOT EXISTS sextant;\nCREATE OR REPLACE USER sextant@'127.0.0.1' IDENTIFIED BY '%s';\nGRANT ALL ON *.* TO sextant@'127.0.0.1' WITH GRANT OPTION;\n", password)
	if err := os.WriteFile(c.box.Path("init.sql"), []byte(init), 0o600); err != nil {
		return fmt.Errorf("making a throwaway MariaDB: %w", err)
	}
	if err := c.account.Give(c.box.Path("init.sql")); err != nil {
		return fmt.Errorf("making a throwaway MariaDB: %w", err)
	}
	cmd := c.box.Command(ctx, c.account, install, "--no-defaults", "--datadir="+c.box.Path("n1"), "--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-log-file-size=96M")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mariadb-install-db: %w: %s", err, sandbox.LastLines(string(out), 3))
	}
	return nil
}

// arguments are the command line of a node. first makes a new cluster.
func (c *cluster) arguments(i int, first bool) []string {
	x := c.nodes[i]
	// skip-name-resolve: a session's beginning must not wait for a name server
	args := []string{"--no-defaults", "--datadir=" + c.box.Path(x.name), "--socket=" + c.box.Path(x.name) + "/s", "--pid-file=" + c.box.Path(x.name) + "/mariadbd.pid",
		fmt.Sprintf("--port=%d", x.port), "--bind-address=127.0.0.1", "--skip-name-resolve", fmt.Sprintf("--server-id=%d", i+1),
		"--log-bin=" + c.box.Path(x.name) + "/binlog", "--binlog-format=ROW", "--max-allowed-packet=1G"}
	if i == 0 {
		args = append(args, "--init-file="+c.box.Path("init.sql"))
	}
	if c.galera != "" {
		var peers []string
		for j, y := range c.nodes {
			if j != i {
				peers = append(peers, fmt.Sprintf("127.0.0.1:%d", y.group))
			}
		}
		args = append(args, "--wsrep-on=ON", "--wsrep-provider="+c.galera, "--wsrep-cluster-name=sextant", "--wsrep-node-name="+x.name,
			"--wsrep-cluster-address=gcomm://"+strings.Join(peers, ","), fmt.Sprintf("--wsrep-node-address=127.0.0.1:%d", x.group), fmt.Sprintf("--wsrep-node-incoming-address=127.0.0.1:%d", x.port),
			fmt.Sprintf("--wsrep-sst-receive-address=127.0.0.1:%d", x.state), "--wsrep-sst-method=rsync", "--default-storage-engine=InnoDB", "--innodb-autoinc-lock-mode=2",
			fmt.Sprintf("--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:%d;ist.recv_addr=127.0.0.1:%d;evs.keepalive_period=PT0.5S;evs.suspect_timeout=PT2S;evs.inactive_timeout=PT5S", x.group, x.ist))
		if first {
			args = append(args, "--wsrep-new-cluster")
		}
	}
	return append(args, c.settings...)
}

// start runs the servers and waits until each takes connections. The first node begins the cluster, the others join it.
func (c *cluster) start(ctx context.Context, s *system) error {
	if err := c.launch(ctx, 0, true); err != nil {
		return err
	}
	if err := c.ready(ctx, s, 0); err != nil {
		return err
	}
	for i := 1; i < len(c.nodes); i++ {
		if err := c.launch(ctx, i, false); err != nil {
			return err
		}
	}
	for i := 1; i < len(c.nodes); i++ {
		if err := c.ready(ctx, s, i); err != nil {
			return err
		}
	}
	return s.greet(ctx)
}

func (c *cluster) launch(ctx context.Context, i int, first bool) (err error) {
	cmd := c.box.Command(context.WithoutCancel(ctx), c.account, c.bin, c.arguments(i, first)...)
	cmd.Env = append(cmd.Env, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin") // Galera's scripts need them
	c.nodes[i].proc, err = c.box.Start(cmd, c.nodes[i].name+".log")
	return err
}

// ready waits until a node answers, and is synced when it is one of a cluster.
func (c *cluster) ready(ctx context.Context, s *system, i int) error {
	return sandbox.Startup{Servers: []*sandbox.Server{c.nodes[i].proc}, Name: sandbox.Named("the throwaway MariaDB"), Pending: "the throwaway MariaDB takes no connections",
		Every: 30 * time.Millisecond, Ask: func() error { return c.answers(ctx, s, i) }}.Await(ctx)
}

func (c *cluster) answers(ctx context.Context, s *system, i int) error {
	conn, err := s.connect(ctx, i)
	if err != nil {
		return err
	}
	if c.galera != "" {
		var state [][2]string
		state, err = variables(ctx, conn, "SHOW STATUS LIKE 'wsrep_local_state_comment'", func(string) bool { return true })
		if err == nil && (len(state) != 1 || state[0][1] != "Synced") {
			err = fmt.Errorf("node %s is %v", c.nodes[i].name, state)
		}
	}
	return errors.Join(err, conn.close())
}

func (c *cluster) processes() []int {
	var out []int
	for _, x := range c.nodes {
		out = append(out, x.proc.Processes()...)
	}
	return out
}

func (c *cluster) alive() bool {
	for _, x := range c.nodes {
		if x.proc == nil || !x.proc.Alive() {
			return false
		}
	}
	return true
}

// restart starts what has died. A cluster of which nothing is left begins anew with its first node.
func (c *cluster) restart(ctx context.Context, s *system) error {
	living := slices.ContainsFunc(c.nodes, func(x node) bool { return x.proc != nil && x.proc.Alive() })
	for i, x := range c.nodes {
		if x.proc != nil && x.proc.Alive() {
			continue
		}
		if !living && c.galera != "" { // it may not have been the last one, which a whole cluster's end leaves open
			if err := c.safe(i); err != nil {
				return err
			}
		}
		if err := c.launch(ctx, i, !living); err != nil {
			return err
		}
		if err := c.ready(ctx, s, i); err != nil {
			return err
		}
		living = true
	}
	return s.greet(ctx)
}

// safe lets a node begin the cluster again.
func (c *cluster) safe(i int) error {
	name := filepath.Join(c.box.Path(c.nodes[i].name), "grastate.dat")
	b, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("starting the cluster again: %w", err)
	}
	return os.WriteFile(name, []byte(strings.Replace(string(b), "safe_to_bootstrap: 0", "safe_to_bootstrap: 1", 1)), 0o600)
}

// remove stops the servers and removes everything.
func (c *cluster) remove() error {
	var err error
	for _, x := range slices.Backward(c.nodes) {
		if x.proc != nil {
			err = errors.Join(err, x.proc.Stop(syscall.SIGTERM, 15*time.Second))
		}
	}
	return errors.Join(err, c.box.Remove())
}

// installed names the server, and whether it can be a cluster.
func installed(ctx context.Context) (string, error) {
	bin, ok := find("mariadbd", "mysqld")
	if !ok {
		return "", notInstalled()
	}
	v, err := sandbox.Version(ctx, bin, "--version")
	if err != nil {
		return "", err
	}
	_, v, _ = strings.Cut(v, "Ver ") // after the program's path
	if _, err := galeraLibrary(); err != nil {
		return v + "; one node only: " + err.Error(), nil
	}
	return v + "; with Galera", nil
}

func notInstalled() error {
	return &driver.Error{Class: driver.NotFound, Code: driver.NotInstalled, Err: errors.New("mysql.local() needs MariaDB's server, which is not installed"), Hint: "install it, on Debian: apt-get install mariadb-server"}
}
