package postgres

import (
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sextant/builtins/sidebyside"
	"sextant/interp/driver"
	"sextant/interp/spec"
)

// pgbench runs the tool on the server, in database postgres, and gives what it prints.
func pgbench(t testing.TB, s *system, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(s.local.bin, "pgbench"), append(args, "-h", "127.0.0.1", "-p", fmt.Sprint(s.cfg.Port), "-U", "sextant", "postgres")...)
	cmd.Env = append(os.Environ(), "PGPASSWORD="+s.cfg.Password, "PGSSLMODE=disable")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("pgbench: %v: %s", err, out)
	}
	return string(out)
}

// The tables and every row of them are those that pgbench -i makes.
func TestPgbenchTables(t *testing.T) {
	s := local(t, nil)
	look := func() map[string][][]string {
		out := map[string][][]string{
			"columns": sidebyside.Rows(t, s, "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable FROM information_schema.columns WHERE table_name LIKE 'pgbench%' ORDER BY 1, ordinal_position"),
			"indexes": sidebyside.Rows(t, s, "SELECT tablename, indexdef FROM pg_indexes WHERE tablename LIKE 'pgbench%' ORDER BY 1, 2"),
			"rows":    nil,
		}
		for _, table := range []string{"accounts", "branches", "tellers", "history"} {
			out["rows"] = append(out["rows"], sidebyside.Rows(t, s, fmt.Sprintf("SELECT count(*), md5(coalesce(string_agg(x::text, ',' ORDER BY x::text), '')) FROM pgbench_%s x", table))...)
		}
		return out
	}
	pgbench(t, s, "-i", "-s", "2", "-q")
	want := look()
	if len(want["columns"]) != 17 || len(want["rows"]) != 4 || want["rows"][0][0] != "200000" {
		t.Fatalf("pgbench -i made %v", want)
	}
	if _, err := s.Exec(t.Context(), "DROP TABLE pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history", nil); err != nil {
		t.Fatal(err)
	}
	w := sidebyside.Workload(t, "pgbench", map[string]any{"script": "tpcb", "scale": int64(2)})
	if err := s.Load(t.Context(), w.Shape(), "0123456789abcdef", w); err != nil {
		t.Fatal(err)
	}
	for k, got := range look() {
		if fmt.Sprint(got) != fmt.Sprint(want[k]) {
			t.Errorf("%s: %v, pgbench has %v", k, got, want[k])
		}
	}
}

// executed is one statement of the server's log, with its arguments.
type executed struct {
	text string
	args []string
}

// captured runs fn and gives the prepared statements that the server logged for an application meanwhile.
func captured(t *testing.T, s *system, app string, fn func()) []executed {
	t.Helper()
	path := s.local.box.Path("server.log")
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	fn()
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []executed
	for l := range strings.Lines(string(log[before.Size():])) {
		by, rest, _ := strings.Cut(strings.TrimSpace(l), "|")
		if by != app {
			continue
		}
		if args, ok := strings.CutPrefix(rest, "DETAIL:  parameters: "); ok && len(out) > 0 {
			for _, a := range strings.Split(args, ", ") {
				_, v, _ := strings.Cut(a, " = ")
				out[len(out)-1].args = append(out[len(out)-1].args, strings.Trim(v, "'"))
			}
		} else if st, ok := strings.CutPrefix(rest, "LOG:  execute "); ok {
			_, text, _ := strings.Cut(st, ": ")
			out = append(out, executed{text: strings.TrimRight(text, "; ")})
		}
	}
	return out
}

func logging() map[string]any {
	return map[string]any{"settings": map[string]any{"log_statement": "all", "log_line_prefix": "%a|", "fsync": false}}
}

// The statements on the wire are pgbench's: the same texts in the same order, with as many arguments, that are drawn alike.
func TestPgbenchStatements(t *testing.T) {
	const n, scale = 1000, 3
	s := local(t, logging())
	pgbench(t, s, "-i", "-s", fmt.Sprint(scale), "-q")
	for ours_, theirs := range map[string]string{"tpcb": "tpcb-like", "simple-update": "simple-update", "select-only": "select-only"} {
		t.Run(ours_, func(t *testing.T) {
			want := captured(t, s, "pgbench", func() { pgbench(t, s, "-n", "-M", "prepared", "-t", fmt.Sprint(n), "-b", theirs) })
			w := sidebyside.Workload(t, "pgbench", map[string]any{"script": ours_, "scale": int64(scale)})
			got := captured(t, s, "sextant", func() { sidebyside.Operations(t, s, w, n) })
			if len(want) != len(got) || len(want)%n != 0 || len(want) == 0 {
				t.Fatalf("%d statements, pgbench has %d", len(got), len(want))
			}
			each := len(want) / n
			for i := range want {
				if got[i].text != want[i].text || len(got[i].args) != len(want[i].args) || got[i].text != got[i%each].text {
					t.Fatalf("statement %d: %+v, pgbench has %+v", i, got[i], want[i])
				}
			}
			for k := range each {
				for a := range want[k].args {
					var x, y []float64
					for i := k; i < len(want); i += each {
						x, y = append(x, sidebyside.Number(t, got[i].args[a])), append(y, sidebyside.Number(t, want[i].args[a]))
					}
					sidebyside.Alike(t, fmt.Sprintf("%s, argument %d", want[k].text, a+1), x, y)
				}
			}
		})
	}
}

// A script's own file gives the same statements; the proportion of the two files is that of their weights.
func TestPgbenchScriptFiles(t *testing.T) {
	s := local(t, logging())
	if _, err := s.Exec(t.Context(), "CREATE TABLE got (tool text, n int, v text)", nil); err != nil {
		t.Fatal(err)
	}
	one := "-- with a condition, a pipeline and a row that sets variables\n\\set n random(1, 2)\n\\if :n = 1\nSELECT 'it''s; ' || :n::text AS a, 1::int AS b;\n\\else\n" +
		"SELECT 40 + 1 AS x,\n   NULL AS y \\gset p_\n\\startpipeline\nSELECT :p_x::int;\nSELECT :p_y::text;\n\\endpipeline\n\\endif\n"
	two := "BEGIN;\nSELECT :client_id::int + :scale::int;\nEND;\n"
	dir := t.TempDir()
	files := map[string]any{}
	args := []string{"-n", "-M", "prepared", "-t", "900", "-s", "7", "--no-vacuum"}
	for _, f := range []struct {
		name, text string
		weight     int64
	}{{"one.sql", one, 2}, {"two.sql", two, 1}} {
		path := filepath.Join(dir, f.name)
		if err := os.WriteFile(path, []byte(f.text), 0o600); err != nil {
			t.Fatal(err)
		}
		files[f.name] = map[string]any{"text": f.text, "value": f.weight}
		args = append(args, "-f", fmt.Sprintf("%s@%d", path, f.weight))
	}
	want := captured(t, s, "pgbench", func() { pgbench(t, s, args...) })
	w := sidebyside.Workload(t, "pgbench", map[string]any{"scripts": files, "scale": int64(7), "tables": false})
	got := captured(t, s, "sextant", func() { sidebyside.Operations(t, s, w, 900) })
	counts := func(all []executed) map[string]float64 {
		out := map[string]float64{}
		for _, e := range all {
			key := e.text
			// the argument of the first is random; NULL is sent as NULL, pgbench makes an empty text of it
			if args := strings.Join(e.args, " "); !strings.Contains(key, "it''s") && args != "NULL" && args != "" {
				key += " " + args
			}
			out[key]++
		}
		return out
	}
	x, y := counts(got), counts(want)
	if !slices.Equal(slices.Sorted(maps.Keys(x)), slices.Sorted(maps.Keys(y))) || len(x) != 7 {
		t.Fatalf("statements %v, pgbench has %v", x, y)
	}
	for text, n := range x {
		p := 1.0 / 3 // each of the three ways through the two files
		if sd := math.Sqrt(900 * p * (1 - p)); math.Abs(n-900*p) > 5*sd || math.Abs(y[text]-900*p) > 5*sd {
			t.Errorf("%s: %v times, pgbench %v, want about 300", text, n, y[text])
		}
	}
}

// Every expression has the value that pgbench gives it.
func TestPgbenchExpressions(t *testing.T) {
	exprs := []string{
		"1 + 2 * 3", "-5 / 2", "-5 % 3", "5 + 1.5", "5.0 / 2", "~ 3", "5 # 1", "1 | 2 # 3", "6 & 3 | 8", "1 + 1 << 2", "256 >> 4", "1.5e2", "-9223372036854775808",
		"1 <> 2", "2 >= 2.5", "3 > 2 AND 2 > 3", "NOT false and false", "true or true and false", "NULL IS NULL", "NULL OR TRUE", "NULL AND FALSE", "(1 = 2) IS NOT TRUE",
		"CASE WHEN 1 > 2 THEN 10 WHEN 7 = 7 THEN 20 ELSE 30 END", "abs(-17)", "abs(-2.5)", "double(5432)", "int(5.4 + 3.8)", "int(-5.9)", "exp(1.0)", "ln(5.0)", "sqrt(2.0)",
		"pi()", "pow(2.0, 10)", "power(2, 3)", "mod(54, 32)", "greatest(5, 4, 3, 2)", "least(5, 4, 3, 2.1)", "hash(10, 5678)", "hash_murmur2(-1, 0)", "hash_fnv1a(10, 5678)",
		":scale * 100000", "random(3, 3)", "random_gaussian(1, 1, 2.5)", "random_exponential(9, 9, 3)", "random_zipfian(4, 4, 1.5)", "2.5 = 2.5", "1 = 1 IS TRUE", "- 3 + 5",
		"7 / 2.0 * 3 - 1", "1 << 62", "NOT NULL", "NULL + 1", "5 / -1",
	}
	s := local(t, nil)
	if _, err := s.Exec(t.Context(), "CREATE TABLE got (tool text, n int, v text)", nil); err != nil {
		t.Fatal(err)
	}
	script := func(tool string) string {
		var b strings.Builder
		for i, e := range exprs {
			fmt.Fprintf(&b, "\\set v%d %s\nINSERT INTO got VALUES ('%s', %d, :v%d);\n", i, e, tool, i, i)
		}
		return b.String()
	}
	file := filepath.Join(t.TempDir(), "e.sql")
	if err := os.WriteFile(file, []byte(script("pgbench")), 0o600); err != nil {
		t.Fatal(err)
	}
	pgbench(t, s, "-n", "-M", "prepared", "-t", "1", "-s", "4", "-f", file)
	sidebyside.Operations(t, s, sidebyside.Workload(t, "pgbench", map[string]any{"scripts": map[string]any{"e.sql": map[string]any{"text": script("sextant"), "value": int64(1)}}, "scale": int64(4), "tables": false}), 1)
	rows := sidebyside.Rows(t, s, "SELECT n, max(v) FILTER (WHERE tool = 'sextant'), max(v) FILTER (WHERE tool = 'pgbench') FROM got GROUP BY n ORDER BY n")
	if len(rows) != len(exprs) {
		t.Fatalf("%d values of %d", len(rows), len(exprs))
	}
	for i, r := range rows {
		x, errx := strconv.ParseFloat(r[1], 64)
		y, erry := strconv.ParseFloat(r[2], 64)
		if r[1] == "None" && r[2] == "NULL" {
			continue // pgbench sends the text NULL
		}
		if r[1] != r[2] && (errx != nil || erry != nil || math.Abs(x-y) > 1e-14*math.Abs(y)) { // pgbench sends 15 digits
			t.Errorf("%s is %s, pgbench has %s", exprs[i], r[1], r[2])
		}
	}
}

// A batch that the buffers of a connection can't hold is refused before it is sent: server and client would wait for each other.
func TestPipelineTooLong(t *testing.T) {
	s := local(t, nil)
	sess, err := s.Session(t.Context(), spec.Level{})
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close() //nolint:errcheck // its statements have been looked at
	if err := sess.Prepare(t.Context(), &driver.Workload{Statements: []driver.Statement{{Parts: []string{"SELECT ", "::text"}}}}); err != nil {
		t.Fatal(err)
	}
	p := sess.(driver.Pipeliner)
	arg := []driver.Arg{{Kind: driver.TextArg, Text: make([]byte, 1000)}}
	for i := range arg[0].Text {
		arg[0].Text[i] = 'x'
	}
	for _, n := range []int{60, 70, 60} {
		for range n {
			if err := p.Queue(0, arg); err != nil {
				t.Fatal(err)
			}
		}
		var res driver.Result
		err := p.Flush(t.Context(), &res)
		if _, code := driver.Classify(err); n == 70 && code != "pipeline" || n == 60 && (err != nil || res.Rows != 60 || res.Bytes != 60_000) {
			t.Errorf("%d statements: %+v, %v", n, res, err)
		}
	}
}
