package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// listed is what `go list -json` says about a package.
type listed struct {
	ImportPath string
	Dir        string
	Doc        string
	GoFiles    []string
	Imports    []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("only %d packages", len(all))
	}
	return all
}

// rows are the layers: a package imports only from rows below its own. The first match counts.
func rows() []struct {
	row     int
	pattern string
} {
	return []struct {
		row     int
		pattern string
	}{
		{7, `^cmd/sextant$`}, {6, `^builtins(/sidebyside)?$`}, {5, `^builtins/[a-z]+$`}, {4, `^builtins/workload/[a-z]+$`}, {4, `^interp/run$`}, {4, `^analysis/(report|importer|audit)$`},
		{3, `^interp/(lang|load|result)$`}, {2, `^interp/driver(/drivertest|/sandbox)?$`}, {2, `^analysis/stat$`}, {1, `^interp/spec$`},
	}
}

func rowOf(path string) int {
	for _, r := range rows() {
		if regexp.MustCompile(r.pattern).MatchString(path) {
			return r.row
		}
	}
	return 0
}

// TestLayers: imports only go down, and packages of one row don't import each other.
func TestLayers(t *testing.T) {
	for _, p := range packages(t) {
		self := strings.TrimPrefix(p.ImportPath, "sextant/")
		if rowOf(self) == 0 {
			t.Errorf("package %s has no row: add it to the layout or move it", self)
		}
		for _, imp := range p.Imports {
			other, ours := strings.CutPrefix(imp, "sextant/")
			if !ours || rowOf(other) < rowOf(self) {
				continue
			}
			if other == "interp/driver" && strings.HasPrefix(self, "interp/driver/") {
				continue // what belongs to the contract
			}
			t.Errorf("%s (row %d) imports %s (row %d)", self, rowOf(self), other, rowOf(other))
		}
	}
}

// TestClientLibraries: a database client is imported only in its driver's folder, spec only knows the standard library,
// and Starlark stays in the language.
func TestClientLibraries(t *testing.T) {
	homes := map[string]string{"github.com/jackc/pgx": "builtins/postgres", "modernc.org/sqlite": "builtins/sqlite", "modernc.org/libc": "builtins/sqlite",
		"github.com/go-sql-driver": "builtins/mysql", "go.mongodb.org": "builtins/mongodb", "github.com/redis": "builtins/redis",
		"github.com/apache/cassandra-gocql-driver": "builtins/cassandra", "github.com/gocql": "builtins/cassandra",
		"go.starlark.net": "interp/lang", "github.com/parquet-go": "interp/result", "gonum.org/v1/gonum": "analysis/stat", "go.yaml.in/yaml": "builtins/workload/cstress", "gonum.org/v1/plot": "analysis/report"}
	for _, p := range packages(t) {
		self := strings.TrimPrefix(p.ImportPath, "sextant/")
		for _, imp := range p.Imports {
			for lib, home := range homes {
				if strings.HasPrefix(imp, lib) && self != home {
					t.Errorf("%s imports %s, which belongs into %s", self, imp, home)
				}
			}
			if self == "interp/spec" && strings.Contains(imp, ".") {
				t.Errorf("interp/spec imports %s: it is plain data on the standard library", imp)
			}
		}
	}
}

// maxLines is about how long a file may be.
const maxLines = 450

// TestFiles: packages open with a comment, files stay readable, nothing calls init() but what has to.
func TestFiles(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("package %s has no comment", p.ImportPath)
		}
		for _, f := range p.GoFiles {
			b, err := os.ReadFile(filepath.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(b, []byte("\n")); n > maxLines {
				t.Errorf("%s/%s has %d lines", p.ImportPath, f, n)
			}
			if bytes.Contains(b, []byte("\nfunc init()")) {
				t.Errorf("%s/%s has an init function: things are registered in builtins/catalog.go", p.ImportPath, f)
			}
		}
	}
}

// TestTopLevel: the top level is fixed.
func TestTopLevel(t *testing.T) {
	out, err := exec.Command("git", "-C", "../..", "ls-tree", "--name-only", "HEAD").Output()
	if err != nil {
		t.Skipf("SKIP: no git here: %v", err)
	}
	allowed := []string{"cmd", "interp", "builtins", "experiments", "analysis", "go.mod", "go.sum", "Makefile", "README.md", "LICENSE"}
	for _, name := range strings.Fields(string(out)) {
		if !strings.HasPrefix(name, ".") && !slices.Contains(allowed, name) {
			t.Errorf("%s does not belong to the top level", name)
		}
	}
}
