package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sextant/interp/driver"
	"sextant/interp/lang"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// maxField is the largest value of one field in bytes: what every system takes in one piece.
const maxField = 1 << 20

func distributions() []string {
	return append(stateless(), "latest", "sequential")
}

// Types are the workloads that a script can name.
func Types() []*spec.WorkloadType {
	records := spec.Param{Name: "records", Kind: spec.KindInt, Doc: "rows loaded before the first trial", Check: spec.AtLeast(1)}
	fields := spec.Param{Name: "fields", Kind: spec.KindInt, Default: int64(10), Doc: "fields of a record", Check: spec.Between(1, 1000)}
	scan := spec.Param{Name: "scan_max", Kind: spec.KindInt, Default: int64(100), Doc: "longest scan in rows; lengths are uniform from 1", Check: spec.AtLeast(1)}
	ycsbRecords := records
	ycsbRecords.Default = int64(1000)
	ownScan := scan
	ownScan.Default, ownScan.Doc = nil, "longest scan in rows; lengths are uniform from 1; 100 without, or as many as there are records"
	must := records
	must.Required = true
	return []*spec.WorkloadType{
		{Name: "ycsb", Doc: "YCSB's core workloads a to f: proportions, distributions, keys and sizes as in YCSB.", Positional: 1, Resolve: resolveWith(ycsbMix), Params: []spec.Param{
			{Name: "workload", Kind: spec.KindString, Required: true, OneOf: ycsbNames(), Doc: "a 50/50 read/update, b 95/5, c read only, d 95/5 read/insert of the latest, e 95/5 scan/insert, f 50/50 read/read-modify-write"},
			ycsbRecords, fields,
			{Name: "field_bytes", Kind: spec.KindInt, Default: int64(100), Doc: "bytes of a field", Check: spec.Between(1, maxField)},
			{Name: "distribution", Kind: spec.KindValue, Value: distributions(), Doc: "of the keys, in place of the workload's own"},
			scan}},
		{Name: "ycsb_file", Doc: "A property file of YCSB's core workload.", Positional: 1, Resolve: resolveWith(ycsbFile), Params: []spec.Param{
			{Name: "file", Kind: spec.KindString, Required: true, Files: true, Doc: "its name, in the folder of the script"},
			{Name: "records", Kind: spec.KindInt, Doc: "in place of the file's recordcount", Check: spec.AtLeast(1)}}},
		{Name: "mix", Doc: "The six mixes of the comparison of databases in containers: records of about 1 KB of people, uniform access, updates of three fields.", Positional: 1,
			Resolve: resolveWith(dockerMix), Params: []spec.Param{
				{Name: "mix", Kind: spec.KindString, Required: true, OneOf: dockerNames(), Doc: "w1 insert, w2 read, w3 90/10 read/update, w4 50/50, w5 10/90, w6 update"},
				{Name: "records", Kind: spec.KindInt, Default: int64(500_000), Doc: "rows loaded before the first trial", Check: spec.AtLeast(1)}}},
		{Name: "records", Doc: "A mix of operations of one's own over one table of records. A read-modify-write reads a record, then updates it; a compare-and-set reads it, then changes " +
			"its first field if that still has the value that was read: else it is a conflict, which retry tries anew. An insert-if-absent takes a new key. Operations on a record that isn't there are counted as not_found.", Resolve: resolveWith(recordsMix), Params: []spec.Param{
			must,
			{Name: "mix", Kind: spec.KindMap, Required: true, Doc: "weights by operation: " + strings.Join(driver.RecordActions(), ", ") + ", or a name of transactions"},
			{Name: "fields", Kind: spec.KindAny, Default: int64(10), Doc: `fields of a record: a number, or generators by name: {"name": person_name(), "age": random_int(18, 90)}`},
			{Name: "field_bytes", Kind: spec.KindAny, Default: int64(100), Doc: "bytes of a field, or a dict of field names and bytes in place of fields"},
			{Name: "keys", Kind: spec.KindValue, Value: distributions(), Default: map[string]any{"$": "uniform"}, Doc: "which keys operations take"},
			{Name: "update_fields", Kind: spec.KindInt, Default: int64(1), Doc: "fields that an update changes: one at random, or the first ones when there are several", Check: spec.AtLeast(1)},
			ownScan,
			{Name: "indexes", Kind: spec.KindList, Doc: "fields with an index of their own. A read-by-index takes the records that have the value with which a drawn record was made, of the first field that has one; when none is left, it is not found"},
			{Name: "index_limit", Kind: spec.KindInt, Default: int64(10), Doc: "most records that a read-by-index takes", Check: spec.Between(1, 100_000)},
			{Name: "batch", Kind: spec.KindInt, Default: int64(10), Doc: "records of a batch-read and a batch-insert, which are one operation each", Check: spec.Between(2, 500)},
			{Name: "transactions", Kind: spec.KindMap, Doc: `transactions of several steps by name, each step with a record of its own: {"transfer": transaction(["read", "update", "update"])}`},
			{Name: "table", Kind: spec.KindString, Default: "records", Doc: "name of the table", Check: identifier}}},
		{Name: "pgbench", Doc: "pgbench's scripts, its own ones or files in its language, on its tables. Before each trial the history is emptied, tellers and branches are vacuumed.",
			Positional: 1, Resolve: resolvePgbench, Params: []spec.Param{
				{Name: "script", Kind: spec.KindString, OneOf: builtinNames(), Doc: "tpcb (tpcb-like), simple-update or select-only"},
				{Name: "scale", Kind: spec.KindInt, Default: int64(1), Doc: "100,000 accounts, 10 tellers and 1 branch each", Check: spec.Between(1, pgbenchMaxScale)},
				{Name: "scripts", Kind: spec.KindMap, Files: true, Doc: "files in pgbench's language with their weights, in place of script: {\"mine.sql\": 2}"},
				{Name: "tables", Kind: spec.KindBool, Default: true, Doc: "make pgbench's tables; False: the scripts' tables are there, by a setup hook or otherwise"}}},
		{Name: "sysbench", Doc: "sysbench's OLTP scripts on its tables; an operation is one event.", Positional: 1, Resolve: resolveSysbench, Params: sysParams()},
		{Name: "redis", Doc: "redis-benchmark's tests: " + strings.Join(redisNames(), ", ") + ".", Positional: 1, Resolve: resolveRedis, Params: redisParams()},
		{Name: "cassandra_stress", Doc: "cassandra-stress' predefined commands on its tables, with its rows byte for byte.", Positional: 1, Resolve: resolveStress, Params: stressParams()},
		{Name: "cassandra_profile", Doc: "A user profile of cassandra-stress in YAML: a table of one's own, its columns' distributions, inserts and queries; rows are the tool's, byte for byte.", Positional: 1, Resolve: resolveProfile, Params: profileParams()},
		{Name: "sql", Doc: "SQL of one's own: statements and transactions with drawn parameters, prepared.", Positional: 1, Resolve: resolveSQL, Params: sqlParams()},
		{Name: "script", Doc: "A function of the script, called once for each operation. tx: " + strings.Join(txNames(), ", ") + ".", Positional: 1, Resolve: resolveScript, Params: scriptParams()},
	}
}

func identifier(v any) error {
	s, _ := v.(string)
	for i, c := range s {
		if !(c == '_' || c >= 'a' && c <= 'z' || i > 0 && c >= '0' && c <= '9') {
			return fmt.Errorf("%q is no plain lower-case name", s)
		}
	}
	if s == "" || len(s) > 40 {
		return fmt.Errorf("a name has 1 to 40 characters, %q has %d", s, len(s))
	}
	return nil
}

// resolveWith makes the Resolve of a workload from the function that reads its parameters.
func resolveWith(read func(map[string]any) (mix, error)) func(map[string]any) (*spec.Workload, error) {
	return func(params map[string]any) (*spec.Workload, error) {
		m, err := read(params)
		if err != nil {
			return nil, err
		}
		var bytes, longest int64
		var fields []any
		for _, f := range m.table.Fields {
			bytes += int64(f.Bytes)
			longest = max(longest, int64(f.Bytes))
			field := map[string]any{"name": f.Name, "bytes": int64(f.Bytes)}
			if m.gens != nil {
				field["values"] = m.made
			}
			fields = append(fields, field)
		}
		w := &spec.Workload{Params: params,
			Dataset: spec.Dataset{Rows: m.table.Rows, RowBytes: bytes + 24,
				Schema: map[string]any{"table": m.table.Name, "key": m.table.Key, "fields": fields, "version": int64(dataVersion)}},
			Verifies: len(m.steps) == 0,
			Resizes:  m.has(driver.Insert, driver.InsertIfAbsent, driver.BatchInsert, driver.Delete)}
		w.Modifies = w.Resizes || m.has(driver.Update, driver.ReadModifyWrite, driver.UpdateIf)
		w.Size = spec.Size{Fields: len(m.table.Fields), FieldBytes: longest, RowBytes: bytes}
		if m.has(driver.BatchInsert) {
			w.Size.Batch = m.batch
		}
		if m.table.Indexes != nil { // else the identity of datasets without stays what it was
			var indexes []any
			for _, f := range m.table.Indexes {
				indexes = append(indexes, f)
			}
			w.Dataset.Schema["indexes"] = indexes
		}
		for _, o := range m.ops {
			w.Ops = append(w.Ops, o.Name)
			w.Actions = append(w.Actions, string(o.Action))
		}
		return w, nil
	}
}

// dataVersion rises when the same parameters come to mean other rows.
const dataVersion = 1

// New builds the runtime form of a resolved workload; seed is that of its rows, p has the functions that it runs.
func New(w *spec.Workload, seed uint64, p *lang.Program) (load.Workload, error) {
	switch w.Type {
	case "pgbench":
		return newPgbench(w.Params)
	case "sysbench":
		return newSysbench(w.Params, seed)
	case "redis":
		return newRedis(w.Params, seed)
	case "cassandra_stress":
		return newStress(w.Params)
	case "cassandra_profile":
		return newProfile(w.Params)
	case "sql":
		return newSQL(w.Params, seed)
	case "script":
		s, err := newScript(w.Params, seed)
		if err != nil {
			return nil, err
		}
		if s.fn = p.Function(s.name); s.fn == nil {
			return nil, fmt.Errorf("the script has no function %s any more", s.name)
		}
		return s, nil
	}
	read := map[string]func(map[string]any) (mix, error){"ycsb": ycsbMix, "ycsb_file": ycsbFile, "records": recordsMix, "mix": dockerMix}[w.Type]
	if read == nil {
		return nil, fmt.Errorf("there is no workload %q", w.Type)
	}
	m, err := read(w.Params)
	if err != nil {
		return nil, err
	}
	return newTable(m, seed)
}

// addOps makes the operation types of a mix from weights by action, or by the name of a transaction; those with weight 0 are left out.
func (m *mix) addOps(weights map[string]float64) {
	for _, name := range append(driver.RecordActions(), slices.Sorted(maps.Keys(m.steps))...) {
		if w := weights[name]; w > 0 {
			m.ops, m.weights = append(m.ops, m.opType(name)), append(m.weights, w)
		}
	}
	m.table.Ordered = m.has(driver.Scan)
}

// opType is the operation type of an action, or of a transaction.
func (m *mix) opType(name string) driver.OpType {
	t := driver.OpType{Name: name, Action: driver.Action(name)}
	switch t.Action {
	case driver.Update, driver.ReadModifyWrite:
		if m.changed != nil {
			t.Fields = m.changed
		} else if m.updates > 1 {
			for f := range m.updates {
				t.Fields = append(t.Fields, f)
			}
		}
	case driver.UpdateIf:
		t.Fields = []int{0}
	case driver.ReadByIndex:
		i := slices.IndexFunc(m.table.Fields, func(c driver.Column) bool { return slices.Contains(m.table.Indexes, c.Name) })
		t.Fields = []int{i}
	case driver.BatchRead, driver.BatchInsert:
		t.Batch = m.batch
	}
	if m.steps[name] != nil {
		t.Action = driver.Transaction
	}
	return t
}
