package cassandra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"sextant/interp/driver"
	"sextant/interp/driver/sandbox"
)

// cluster is a throwaway cluster and its data. Node i listens on 127.0.0.i, all on the same ports.
type cluster struct {
	box          *sandbox.Sandbox
	java, jars   string
	heap         string
	port, gossip int
	dcs          int
	settings     [][2]string
	nodes        []*sandbox.Server
}

// datacenter is the data centre of node i, from 0.
func datacenter(i, dcs int) string { return fmt.Sprintf("dc%d", i%max(dcs, 1)+1) }

func address(i int) string { return fmt.Sprintf("127.0.0.%d", i+1) }

// jarFolders are where an installed Cassandra has its jars.
func jarFolders() []string {
	var out []string
	if h := os.Getenv("CASSANDRA_HOME"); h != "" {
		out = append(out, filepath.Join(h, "lib"), h)
	}
	if c, err := os.UserCacheDir(); err == nil {
		out = append(out, filepath.Join(c, "sextant", "cassandra", "lib"))
	}
	return append(out, "/usr/share/cassandra", "/usr/share/cassandra/lib", "/opt/cassandra/lib")
}

// find looks for Java and for a folder with Cassandra's jars.
func find() (java, jars string, err error) {
	for _, d := range jarFolders() {
		if m, _ := filepath.Glob(filepath.Join(d, "*cassandra-[0-9]*.jar")); len(m) > 0 {
			jars = d
			break
		}
		if m, _ := filepath.Glob(filepath.Join(d, "cassandra-all-*.jar")); len(m) > 0 {
			jars = d
			break
		}
	}
	if jars == "" {
		return "", "", &driver.Error{Class: driver.NotFound, Code: driver.NotInstalled, Err: errors.New("cassandra.local() needs Cassandra's jars, which are not installed"),
			Hint: "unpack Apache Cassandra and set CASSANDRA_HOME to its folder, or fetch org.apache.cassandra:cassandra-all with its dependencies into a folder"}
	}
	if h := os.Getenv("JAVA_HOME"); h != "" {
		if p := filepath.Join(h, "bin", "java"); sandbox.IsFile(p) {
			return p, jars, nil
		}
	}
	if java, err = exec.LookPath("java"); err != nil {
		return "", "", &driver.Error{Class: driver.NotFound, Code: driver.NotInstalled, Err: errors.New("cassandra.local() needs Java 11 or 17, which is not installed"), Hint: "on Debian: apt-get install openjdk-17-jre-headless"}
	}
	return java, jars, nil
}

func openLocal(ctx context.Context, t driver.Target, connections int64) (_ driver.System, err error) {
	c := &cluster{}
	if c.java, c.jars, err = find(); err != nil {
		return nil, err
	}
	if c.box, err = sandbox.New("cassandra"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.remove())
		}
	}()
	n, _ := t.Options["nodes"].(int64)
	dcs, _ := t.Options["datacenters"].(int64)
	c.heap, _ = t.Options["heap"].(string)
	c.settings = sandbox.Settings(t.Options["settings"], "true", "false")
	c.nodes, c.dcs = make([]*sandbox.Server, max(n, 1)), int(max(dcs, 1))
	for _, p := range []*int{&c.port, &c.gossip} {
		if *p, err = sandbox.FreePort(); err != nil {
			return nil, err
		}
	}
	var hosts []string
	for i := range c.nodes {
		hosts = append(hosts, address(i))
		if err := c.configure(i); err != nil {
			return nil, fmt.Errorf("making a throwaway Cassandra: %w", err)
		}
	}
	s := &system{cfg: clusterConfig(hosts, c.port, connections), log: t.Log, keyspace: "sextant", dc: "dc1", replication: t.Options["replication"], local: c}
	if err := c.start(ctx, s); err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	if err := s.ensureKeyspace(ctx); err != nil { // hooks and scripts need it before anything is loaded
		return nil, err
	}
	return s, nil
}

// configure writes the files of a node. All are seeds with one fixed token each, so they start at the same time and nothing
// streams: that is right for a new cluster of a fixed size only.
func (c *cluster) configure(i int) error {
	dir := c.box.Path(fmt.Sprintf("n%d", i+1))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	var seeds []string
	for j := range c.nodes {
		seeds = append(seeds, fmt.Sprintf("%s:%d", address(j), c.gossip))
	}
	token := math.MinInt64 + 1 + int64(uint64(i)*(math.MaxUint64/uint64(len(c.nodes))))
	yaml := map[string]string{
		"cluster_name": "sextant", "num_tokens": "1", "initial_token": fmt.Sprintf("'%d'", token), "auto_bootstrap": "false",
		"partitioner": "org.apache.cassandra.dht.Murmur3Partitioner", "endpoint_snitch": "GossipingPropertyFileSnitch",
		"listen_address": address(i), "rpc_address": address(i), "native_transport_port": fmt.Sprint(c.port), "storage_port": fmt.Sprint(c.gossip),
		"seed_provider":  fmt.Sprintf("[{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{seeds: '%s'}]}]", strings.Join(seeds, ",")),
		"commitlog_sync": "periodic", "auto_snapshot": "false",
	}
	if !slices.ContainsFunc(c.settings, func(x [2]string) bool { return x[0] == "commitlog_sync" }) {
		yaml["commitlog_sync_period"] = "10000ms" // Cassandra's own defaults
	}
	for _, x := range c.settings {
		yaml[x[0]] = x[1]
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(yaml)) {
		fmt.Fprintf(&b, "%s: %s\n", name, yaml[name])
	}
	logback := `<configuration><appender name="STDOUT" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%-5level %logger{20} %msg%n</pattern></encoder></appender>` +
		`<root level="WARN"><appender-ref ref="STDOUT"/></root></configuration>`
	return errors.Join(os.WriteFile(filepath.Join(dir, "cassandra.yaml"), []byte(b.String()), 0o600),
		os.WriteFile(filepath.Join(dir, "cassandra-rackdc.properties"), []byte("dc="+datacenter(i, c.dcs)+"\nrack=rack1\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "logback.xml"), []byte(logback), 0o600))
}

// launch starts a node. Cassandra needs the exports and opens from Java 17 on; TieredStopAtLevel is left out, as it would be
// part of what is measured.
func (c *cluster) launch(ctx context.Context, i int) (err error) {
	dir := c.box.Path(fmt.Sprintf("n%d", i+1))
	cmd := c.box.Command(context.WithoutCancel(ctx), sandbox.Account{}, c.java, "-Xms128m", "-Xmx"+c.heap, "-XX:+UseG1GC",
		"--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED", "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED", "--add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED",
		"--add-opens=java.base/java.io=ALL-UNNAMED", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED", "-Djava.io.tmpdir="+dir,
		"-Dlogback.configurationFile="+filepath.Join(dir, "logback.xml"), "-Dcassandra-foreground=yes", "-Dcassandra.config=file://"+filepath.Join(dir, "cassandra.yaml"),
		"-Dcassandra-rackdc.properties=file://"+filepath.Join(dir, "cassandra-rackdc.properties"), "-Dcassandra.storagedir="+dir,
		"-Dcassandra.skip_wait_for_gossip_to_settle=0", "-Dcassandra.memtable.row_overhead_size=180", "-Dcassandra.shutdown_announce_in_ms=200",
		"-cp", filepath.Join(c.jars, "*"), "org.apache.cassandra.service.CassandraDaemon")
	cmd.Dir = dir
	c.nodes[i], err = c.box.Start(cmd, fmt.Sprintf("n%d.log", i+1))
	return err
}

// start starts the nodes that don't run, and waits until each sees all others and answers for all of them.
func (c *cluster) start(ctx context.Context, s *system) error {
	for i, n := range c.nodes {
		if n == nil || !n.Alive() {
			if err := c.launch(ctx, i); err != nil {
				return err
			}
		}
	}
	next := 0 // node to ask
	return sandbox.Startup{Servers: c.nodes, Name: func(i int) string { return fmt.Sprintf("node %d of the throwaway Cassandra", i+1) },
		Pending: "the throwaway Cassandra is not ready", Every: 100 * time.Millisecond, Ask: func() error {
			for ; next < len(c.nodes); next++ {
				if err := c.answers(ctx, s, next); err != nil {
					return err
				}
			}
			return nil
		}}.Await(ctx)
}

// answers asks one node alone: it must take connections and reach every other node. A traced table of the system that
// all nodes hold is written at the consistency ALL: an open port alone says nothing.
func (c *cluster) answers(ctx context.Context, s *system, i int) error {
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("%s:%d", address(i), c.port), time.Second)
	if err != nil {
		return err
	}
	_ = conn.Close() // it was only tried
	cfg := *s.cfg
	cfg.Hosts, cfg.NumConns, cfg.Keyspace = []string{address(i)}, 1, ""
	cfg.DisableInitialHostLookup = true
	cfg.Timeout = 5 * time.Second
	cfg.PoolConfig.HostSelectionPolicy = gocql.RoundRobinHostPolicy()
	g, err := s.create(ctx, &cfg)
	if err != nil {
		return err
	}
	defer g.Close()
	var factors []string
	have := map[string]int{}
	for j := range c.nodes {
		have[datacenter(j, c.dcs)]++
	}
	for _, dc := range slices.Sorted(maps.Keys(have)) {
		factors = append(factors, fmt.Sprintf("'%s': %d", dc, have[dc]))
	}
	for _, cql := range []string{
		"CREATE KEYSPACE IF NOT EXISTS sextant_ready WITH replication = {'class': 'NetworkTopologyStrategy', " + strings.Join(factors, ", ") + "}",
		"CREATE TABLE IF NOT EXISTS sextant_ready.t (k int PRIMARY KEY)", "INSERT INTO sextant_ready.t (k) VALUES (1)",
	} {
		if err := g.Query(cql).Consistency(gocql.All).ExecContext(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) processes() []int {
	var out []int
	for _, n := range c.nodes {
		out = append(out, n.Processes()...)
	}
	return out
}

func (c *cluster) alive() bool {
	return !slices.ContainsFunc(c.nodes, func(n *sandbox.Server) bool { return n == nil || !n.Alive() })
}

// remove kills the nodes, whose data nobody needs, and removes everything.
func (c *cluster) remove() error {
	var err error
	for _, n := range c.nodes {
		if n != nil && n.Alive() {
			err = errors.Join(err, n.Stop(syscall.SIGKILL, 10*time.Second))
		}
	}
	return errors.Join(err, c.box.Remove())
}

// installed names the jars and Java.
func installed(ctx context.Context) (string, error) {
	java, jars, err := find()
	if err != nil {
		return "", err
	}
	v, err := sandbox.Version(ctx, java, "-version")
	if err != nil {
		return "", err
	}
	name := "Cassandra"
	for _, pattern := range []string{"apache-cassandra-[0-9]*.jar", "cassandra-all-*.jar"} {
		if m, err := filepath.Glob(filepath.Join(jars, pattern)); err == nil && len(m) > 0 {
			name = strings.TrimSuffix(filepath.Base(m[0]), ".jar")
		}
	}
	return name + " on " + v, nil
}
