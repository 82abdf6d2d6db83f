package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/cpu"
	ghost "github.com/shirou/gopsutil/v4/host"
	gload "github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"

	"sextant/interp/result"
)

type factKey struct{ system, key string }

// volatile facts differ at every start and are no change of the environment.
func volatile(key string) bool {
	return strings.HasPrefix(key, "load_average") || strings.HasPrefix(key, "pressure_") || key == "memory_available_bytes"
}

// hostFacts notes what is known about machine, product and script. What this machine can't tell is left out.
func (r *Runner) hostFacts(ctx context.Context) error {
	r.fact("", "product", "sextant "+r.opt.Product)
	r.fact("", "go", runtime.Version())
	r.fact("", "os", runtime.GOOS)
	r.fact("", "arch", runtime.GOARCH)
	r.fact("", "gomaxprocs", strconv.Itoa(runtime.GOMAXPROCS(0)))
	if h, err := ghost.InfoWithContext(ctx); err == nil {
		r.fact("", "hostname", h.Hostname)
		r.fact("", "kernel", h.KernelVersion)
		r.fact("", "platform", h.Platform+" "+h.PlatformVersion)
	}
	if c, err := cpu.InfoWithContext(ctx); err == nil && len(c) > 0 {
		r.fact("", "cpu_model", c[0].ModelName)
	}
	if n, err := cpu.CountsWithContext(ctx, true); err == nil {
		r.fact("", "cpu_count", strconv.Itoa(n))
	}
	if m, err := mem.VirtualMemoryWithContext(ctx); err == nil {
		r.fact("", "memory_bytes", strconv.FormatUint(m.Total, 10))
		r.fact("", "memory_available_bytes", strconv.FormatUint(m.Available, 10))
	}
	if l, err := gload.AvgWithContext(ctx); err == nil {
		r.fact("", "load_average_1m", strconv.FormatFloat(l.Load1, 'f', 2, 64))
	}
	r.machineFacts()
	if d, err := executableDigest(); err == nil {
		r.fact("", "executable_sha256", d)
	}
	if bi, ok := debug.ReadBuildInfo(); ok {
		for _, d := range bi.Deps {
			if databaseClient(d.Path) {
				r.fact("", "module "+d.Path, d.Version)
			}
		}
	}
	return r.scriptFacts()
}

// databaseClient says whether a module is one of those whose version can change what is measured.
func databaseClient(path string) bool {
	return slices.ContainsFunc([]string{"jackc/pgx", "modernc.org/sqlite", "go-redis", "mongo-driver", "gocql", "go-sql-driver"},
		func(s string) bool { return strings.Contains(path, s) })
}

func executableDigest() (digest string, err error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// scriptFacts are the digests of the script's files as they lie in the run folder.
func (r *Runner) scriptFacts() error {
	for _, s := range r.program.Sources {
		b, err := os.ReadFile(filepath.Join(r.dir, "script", filepath.FromSlash(s.Name)))
		if err != nil {
			return fmt.Errorf("reading the copy of the script: %w", err)
		}
		d := sha256.Sum256(b)
		r.fact("", "script "+s.Name, hex.EncodeToString(d[:]))
	}
	return nil
}

// lastFacts are the facts that the run's last start recorded.
func lastFacts(dir string, schema *result.Schema) (map[factKey]string, error) {
	cols := schema.Table("environment").Columns()
	system := slices.Index(cols, "system")
	key, value := slices.Index(cols, "key"), slices.Index(cols, "value")
	facts := map[factKey]string{}
	err := result.OpenRun(dir, schema).Each("environment", func(row []any) error {
		facts[factKey{row[system].(string), row[key].(string)}] = row[value].(string) // later starts come later
		return nil
	})
	return facts, err
}
