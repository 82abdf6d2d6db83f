package mysql

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"sextant/builtins/sidebyside"
	"sextant/interp/driver/drivertest"
)

// withSysbench is a throwaway server that logs every statement into a table.
func withSysbench(t *testing.T) *system {
	t.Helper()
	_, err := exec.LookPath("sysbench")
	drivertest.Need(t, err)
	settings := quick()
	settings["log_output"], settings["innodb_flush_log_at_trx_commit"] = "TABLE", int64(0)
	return local(t, 1, settings)
}

// The tables are those that sysbench prepares: columns, sizes, keys; rows have its form and its distribution of k.
func TestSysbenchTables(t *testing.T) {
	s := withSysbench(t)
	look := func() (columns, keys [][]string, rows [][]string) {
		return sidebyside.Rows(t, s, "SELECT table_name, column_name, column_type, column_key, extra FROM information_schema.columns WHERE table_name LIKE 'sbtest%' ORDER BY 1, ordinal_position"),
			sidebyside.Rows(t, s, "SELECT table_name, non_unique, column_name FROM information_schema.statistics WHERE table_name LIKE 'sbtest%' ORDER BY 1, 2, 3"),
			sidebyside.Rows(t, s, "SELECT id, k, c, pad FROM sbtest2 ORDER BY id")
	}
	sysbench(t, s, "oltp_read_write", "prepare", "--tables=2", "--table-size=3000")
	columns, keys, rows := look()
	sysbench(t, s, "oltp_read_write", "cleanup", "--tables=2")
	w := sidebyside.Workload(t, "sysbench", map[string]any{"test": "read_write", "tables": int64(2), "table_size": int64(3000)})
	if err := s.Load(t.Context(), w.Shape(), "0123456789abcdef", w); err != nil {
		t.Fatal(err)
	}
	columns2, keys2, rows2 := look()
	if fmt.Sprint(columns) != fmt.Sprint(columns2) || len(columns) != 8 {
		t.Errorf("columns %v, sysbench has %v", columns2, columns)
	}
	if fmt.Sprint(keys) != fmt.Sprint(keys2) || len(keys) != 4 {
		t.Errorf("keys %v, sysbench has %v", keys2, keys)
	}
	if len(rows) != 3000 || len(rows2) != 3000 {
		t.Fatalf("%d rows, sysbench has %d", len(rows2), len(rows))
	}
	form := regexp.MustCompile(`^'?\d{11}(-\d{11})*'?$`)
	var k, k2 []float64
	for i := range rows {
		k, k2 = append(k, sidebyside.Number(t, rows[i][1])), append(k2, sidebyside.Number(t, rows2[i][1]))
		for c := 2; c < 4; c++ {
			if !form.MatchString(rows[i][c]) || !form.MatchString(rows2[i][c]) || len(rows[i][c]) != len(rows2[i][c]) || rows[i][0] != rows2[i][0] {
				t.Fatalf("row %v, sysbench has %v", rows2[i], rows[i])
			}
		}
	}
	sidebyside.Alike(t, "k", k2, k)
	// a row without a key gets the next one
	if _, err := s.Exec(t.Context(), "INSERT INTO sbtest1 (k, c, pad) VALUES (1, 'c', 'p')", nil); err != nil {
		t.Fatal(err)
	}
	if got := sidebyside.Rows(t, s, "SELECT max(id) FROM sbtest1"); got[0][0] != "3001" {
		t.Errorf("the next id is %v", got)
	}
}

var (
	quoted = regexp.MustCompile(`'[^']*'`)
	digits = regexp.MustCompile(`\b\d+\b`)
	table  = regexp.MustCompile(`sbtest(\d)`)
)

// logged runs fn and gives the statements on sbtest tables, BEGIN and COMMIT that the server saw meanwhile: their texts
// without numbers, and the numbers.
func logged(t *testing.T, s *system, fn func()) (texts []string, numbers [][]float64) {
	t.Helper()
	exec := func(text string) {
		if _, err := s.Exec(t.Context(), text, nil); err != nil {
			t.Fatal(err)
		}
	}
	exec("TRUNCATE mysql.general_log")
	exec("SET GLOBAL general_log = ON")
	fn()
	exec("SET GLOBAL general_log = OFF")
	for _, r := range sidebyside.Rows(t, s, "SELECT argument FROM mysql.general_log WHERE command_type IN ('Execute', 'Query')") {
		text, err := strconv.Unquote(r[0])
		if err != nil {
			text = strings.Trim(r[0], "'")
		}
		if text != "BEGIN" && text != "COMMIT" && !strings.Contains(text, "sbtest") {
			continue
		}
		text = strings.Replace(text, "(id, k, c, pad) VALUES (0, ", "(k, c, pad) VALUES (", 1) // 0 lets the server count, as leaving it out does
		var n []float64
		text = table.ReplaceAllStringFunc(text, func(m string) string { n = append(n, sidebyside.Number(t, m[len("sbtest"):])); return "sbtest" })
		text = quoted.ReplaceAllStringFunc(text, func(m string) string { return fmt.Sprintf("'%d bytes'", len(m)-2) })
		text = digits.ReplaceAllStringFunc(text, func(m string) string {
			n = append(n, sidebyside.Number(t, m))
			return "?"
		})
		texts, numbers = append(texts, strings.ReplaceAll(text, "'?", "'")), append(numbers, n)
	}
	return texts, numbers
}

// The statements on the wire are sysbench's: the same texts in the same order, with numbers and tables that are drawn alike.
func TestSysbenchStatements(t *testing.T) {
	s := withSysbench(t)
	const events, size, tables = 400, 2000, 3
	for _, test := range []string{"oltp_point_select", "oltp_read_only", "oltp_write_only", "oltp_read_write", "oltp_update_index", "oltp_update_non_index", "oltp_delete", "oltp_insert"} {
		t.Run(test, func(t *testing.T) {
			of := []string{fmt.Sprintf("--tables=%d", tables), fmt.Sprintf("--table-size=%d", size)}
			sysbench(t, s, test, "prepare", of...)
			want, numbers := logged(t, s, func() {
				sysbench(t, s, test, "run", append(of, fmt.Sprintf("--events=%d", events), "--time=0", "--threads=1")...)
			})
			sysbench(t, s, test, "cleanup", of...)
			w := sidebyside.Workload(t, "sysbench", map[string]any{"test": test, "tables": int64(tables), "table_size": int64(size)})
			if err := s.Load(t.Context(), w.Shape(), "0123456789abcdef", w); err != nil {
				t.Fatal(err)
			}
			got, numbers2 := logged(t, s, func() { sidebyside.Operations(t, s, w, events) })
			if err := s.Drop(t.Context(), w.Shape()); err != nil {
				t.Fatal(err)
			}
			if len(want) != len(got) || len(want)%events != 0 || len(want) == 0 {
				t.Fatalf("%d statements, sysbench has %d", len(got), len(want))
			}
			each := len(want) / events
			for i := range want {
				if got[i] != want[i] || len(numbers[i]) != len(numbers2[i]) || got[i] != got[i%each] {
					t.Fatalf("statement %d: %s %v, sysbench has %s %v", i, got[i], numbers2[i], want[i], numbers[i])
				}
			}
			for k := range each {
				for a := range numbers[k] {
					var x, y []float64
					for i := k; i < len(want); i += each {
						x, y = append(x, numbers2[i][a]), append(y, numbers[i][a])
					}
					sidebyside.Alike(t, fmt.Sprintf("%s, number %d", want[k], a), x, y)
				}
			}
		})
	}
}

// Each distribution that version 1.0.20 has draws as sysbench does: two samples of 100,000.
func TestSysbenchDistributions(t *testing.T) {
	_, err := exec.LookPath("sysbench")
	drivertest.Need(t, err)
	const n, size = 100_000, 5000
	file := filepath.Join(t.TempDir(), "draw.lua")
	if err := os.WriteFile(file, []byte(fmt.Sprintf("function event()\n for i = 1, %d do print('drawn ' .. sysbench.rand.default(1, %d)) end\nend\n", n, size)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"special", "uniform", "gaussian", "pareto"} {
		cmd := exec.Command("sysbench", file, "--rand-type="+d, "--events=1", "--time=0", "run")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s", d, err, out)
		}
		var theirs, ours []float64
		for l := range strings.Lines(string(out)) {
			if v, ok := strings.CutPrefix(strings.TrimSpace(l), "drawn "); ok {
				theirs = append(theirs, sidebyside.Number(t, v))
			}
		}
		w := sidebyside.Workload(t, "sysbench", map[string]any{"test": "point_select", "table_size": int64(size), "distribution": d})
		ours = sidebyside.Keys(t, w, n)
		if len(theirs) != n {
			t.Fatalf("%s: %d draws", d, len(theirs))
		}
		sidebyside.Alike(t, d, ours, theirs)
	}
}
