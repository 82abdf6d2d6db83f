package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// redisTest is one of redis-benchmark's tests: the words of its command, with @ for the random number, # for one that is 0 without a keyspace, and $ for the data, and
// the key that it works on.
type redisTest struct {
	name, words string
	store, key  string // what the key is, and its name; "": none
	filled      bool   // it takes away or reads what must be there
	grows       bool   // it changes how much is there
	changes     bool
	inline      bool // sent as a line, not as a list of words
}

// redisTests are the tests of redis-benchmark 7 (its documentation and what MONITOR shows of it; shared definitions).
func redisTests() []redisTest {
	out := []redisTest{
		{name: "ping", words: "PING"},
		{name: "ping_inline", words: "PING", inline: true},
		{name: "set", words: "SET key:@ $", store: "string", key: "key", grows: true, changes: true},
		{name: "get", words: "GET key:@", store: "string", key: "key", filled: true},
		{name: "incr", words: "INCR counter:@", store: "string", key: "counter", grows: true, changes: true},
		{name: "lpush", words: "LPUSH mylist $", store: "list", key: "mylist", grows: true, changes: true},
		{name: "rpush", words: "RPUSH mylist $", store: "list", key: "mylist", grows: true, changes: true},
		{name: "lpop", words: "LPOP mylist", store: "list", key: "mylist", filled: true, grows: true, changes: true},
		{name: "rpop", words: "RPOP mylist", store: "list", key: "mylist", filled: true, grows: true, changes: true},
		{name: "sadd", words: "SADD myset element:@", store: "set", key: "myset", grows: true, changes: true},
		{name: "hset", words: "HSET myhash element:@ $", store: "fields", key: "myhash", grows: true, changes: true},
		{name: "spop", words: "SPOP myset", store: "set", key: "myset", filled: true, grows: true, changes: true},
		{name: "zadd", words: "ZADD myzset # element:@", store: "zset", key: "myzset", grows: true, changes: true},
		{name: "zpopmin", words: "ZPOPMIN myzset", store: "zset", key: "myzset", filled: true, grows: true, changes: true},
		{name: "mset", words: strings.TrimSpace("MSET" + strings.Repeat(" key:@ $", 10)), store: "string", key: "key", grows: true, changes: true},
		{name: "xadd", words: "XADD mystream * myfield $", store: "stream", key: "mystream", grows: true, changes: true},
	}
	for _, n := range []int{100, 300, 500, 600} {
		out = append(out, redisTest{name: fmt.Sprintf("lrange_%d", n), words: fmt.Sprintf("LRANGE mylist 0 %d", n-1), store: "list", key: "mylist", filled: true})
	}
	return out
}

func redisNames() []string {
	var out []string
	for _, t := range redisTests() {
		out = append(out, t.name)
	}
	return out
}

func redisParams() []spec.Param {
	return []spec.Param{
		{Name: "tests", Kind: spec.KindAny, Required: true, Doc: `a test, a list of them (each as often as the others), or a dict with weights: {"set": 1, "get": 10}`},
		{Name: "keyspace", Kind: spec.KindInt, Default: int64(0), Doc: "keys, elements and fields are numbers below this, uniformly (as -r); 0: one fixed key", Check: spec.Between(0, 999_999_999_999)},
		{Name: "value_bytes", Kind: spec.KindInt, Default: int64(3), Doc: "bytes of a value (as -d)", Check: spec.Between(1, 512<<20)},
		{Name: "elements", Kind: spec.KindInt, Default: int64(100_000), Doc: "elements that are there when a test that takes or reads some begins; when they are used up operations find nothing", Check: spec.Between(1, 1<<40)},
	}
}

// redis is the load.Workload of redis-benchmark's tests.
type redis struct {
	tests    []redisTest
	weights  []float64
	bounds   []uint64
	keyspace int64
	bytes    int
	tables   []driver.Table
	seed     uint64
	text     *pairs
}

func newRedis(p map[string]any, seed uint64) (*redis, error) {
	w := &redis{keyspace: p["keyspace"].(int64), bytes: int(p["value_bytes"].(int64)), seed: seed, text: textPairs()}
	given := map[string]float64{}
	switch v := p["tests"].(type) {
	case string:
		given[v] = 1
	case []any:
		for _, x := range v {
			name, _ := x.(string)
			given[name]++
		}
	case map[string]any:
		for name, x := range v {
			weight, ok := weightOf(x)
			if !ok {
				return nil, &spec.ParamError{Param: "tests", Msg: fmt.Sprintf("give %s the weight %s; a weight is a number from 0", name, spec.Display(x))}
			}
			given[name] = weight
		}
	default:
		return nil, &spec.ParamError{Param: "tests", Msg: "must be a test's name, a list or a dict of them, not " + spec.Display(v)}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.Index(redisNames(), name)
		if i < 0 {
			return nil, &spec.ParamError{Param: "tests", Msg: fmt.Sprintf("name %q; there are %s", name, strings.Join(redisNames(), ", ")), Suggestion: spec.Nearest(name, redisNames())}
		}
		if given[name] > 0 {
			w.tests, w.weights = append(w.tests, redisTests()[i]), append(w.weights, given[name])
		}
	}
	if len(w.tests) == 0 {
		return nil, &spec.ParamError{Param: "tests", Msg: "give none a weight above 0"}
	}
	w.bounds = cumulative(w.weights)
	for _, t := range w.tests {
		w.need(t, p["elements"].(int64))
	}
	if len(w.tables) == 0 {
		w.tables = []driver.Table{{Name: "key", Key: "k", Store: "string", Fields: []driver.Column{{Name: "v", Bytes: w.bytes}}}}
	}
	return w, nil
}

// need makes sure that a test's key is among the tables, with what the test needs.
func (w *redis) need(t redisTest, elements int64) {
	if t.store == "" {
		return
	}
	i := slices.IndexFunc(w.tables, func(x driver.Table) bool { return x.Name == t.key })
	if i < 0 {
		i = len(w.tables)
		w.tables = append(w.tables, driver.Table{Name: t.key, Key: "k", Store: t.store, Fields: []driver.Column{{Name: "v", Bytes: w.bytes}}})
	}
	if !t.filled {
		return
	}
	if t.store == "string" {
		elements = max(w.keyspace, 1)
	}
	w.tables[i].Rows = max(w.tables[i].Rows, elements)
}

func resolveRedis(p map[string]any) (*spec.Workload, error) {
	w, err := newRedis(p, 0)
	if err != nil {
		return nil, err
	}
	out := &spec.Workload{Params: p, Pipelines: true}
	var stores []any
	var rows int64
	for _, t := range w.tables {
		rows += t.Rows
		stores = append(stores, map[string]any{"name": t.Name, "store": t.Store, "rows": t.Rows})
	}
	out.Dataset = spec.Dataset{Rows: rows, RowBytes: int64(w.bytes) + 20, Schema: map[string]any{"tables": "redis", "stores": stores, "value_bytes": p["value_bytes"], "keyspace": p["keyspace"], "version": int64(dataVersion)}}
	for _, t := range w.tests {
		out.Ops, out.Actions = append(out.Ops, t.name), append(out.Actions, string(driver.Command))
		out.Resizes, out.Modifies = out.Resizes || t.grows, out.Modifies || t.changes
	}
	return out, nil
}

func (w *redis) Shape() *driver.Workload {
	out := &driver.Workload{Tables: w.tables}
	for _, t := range w.tests {
		out.Ops = append(out.Ops, driver.OpType{Name: t.name, Action: driver.Command})
	}
	return out
}

func (w *redis) Rows(table int) int64 { return w.tables[table].Rows }

func (w *redis) Row(table int, i int64, row *driver.Row) {
	t := &w.tables[table]
	row.ID = i
	if len(row.Values) != 1 || cap(row.Values[0]) < w.bytes+len("element:")+randDigits {
		row.Values = [][]byte{make([]byte, 0, w.bytes+len("element:")+randDigits)}
	}
	switch t.Store {
	case "set", "zset": // elements must differ; a score is the key
		row.Key = append(row.Key[:0], '0')
		row.Values[0] = appendRandom(append(row.Values[0][:0], "element:"...), i, true)
		return
	case "fields":
		row.Key = appendRandom(append(row.Key[:0], "element:"...), i, true)
	default:
		row.Key = appendRandom(row.Key[:0], i, w.keyspace > 0)
	}
	row.Values[0] = row.Values[0][:w.bytes]
	var r load.Rand
	r.Seek(w.seed, uint64(table), uint64(i))
	w.text.fill(row.Values[0], &r)
}

// randDigits is how long a random number is, with zeros before it.
const randDigits = 12

// appendRandom appends a number of a keyspace, or without one the text that redis-benchmark leaves in its place.
func appendRandom(b []byte, n int64, keyspace bool) []byte {
	if !keyspace {
		return append(b, "__rand_int__"...)
	}
	at := len(b)
	b = append(b, "000000000000"...)
	for i := randDigits - 1; i >= 0; i-- {
		b[at+i] = '0' + byte(n%10)
		n /= 10
	}
	return b
}

func (w *redis) Start(uint64) {}

func (w *redis) Client(client int) load.Generator {
	g := &redisClient{w: w, data: make([]byte, w.bytes)}
	var r load.Rand
	r.Seek(w.seed, uint64(client), 0)
	w.text.fill(g.data, &r)
	for _, t := range w.tests {
		var words [][]byte // each with room of its own in the frame, where its digits are changed
		for _, word := range strings.Fields(t.words) {
			switch {
			case word == "$":
				words = append(words, g.data)
			case word == "#" && w.keyspace == 0:
				words = append(words, []byte("0"))
			case word == "#":
				words = append(words, appendRandom(nil, 0, true))
			case strings.HasSuffix(word, "@"):
				words = append(words, appendRandom([]byte(strings.TrimSuffix(word, "@")), 0, w.keyspace > 0))
			default:
				words = append(words, []byte(word))
			}
		}
		frame := t.frame(words)
		g.words, g.frames = append(g.words, words), append(g.frames, frame)
		var at []int
		for i, word := range strings.Fields(t.words) {
			if (strings.HasSuffix(word, "@") || word == "#") && w.keyspace > 0 {
				at = append(at, i)
			}
		}
		g.random = append(g.random, at)
	}
	return g
}

// frame is a command in Redis' protocol (RESP), or as a line; words become parts of it.
func (t *redisTest) frame(words [][]byte) []byte {
	var frame []byte
	at := make([]int, len(words))
	if !t.inline {
		frame = fmt.Appendf(frame, "*%d\r\n", len(words))
	}
	for i, word := range words {
		if !t.inline {
			frame = fmt.Appendf(frame, "$%d\r\n", len(word))
		} else if i > 0 {
			frame = append(frame, ' ')
		}
		at[i] = len(frame)
		frame = append(frame, word...)
		if !t.inline {
			frame = append(frame, "\r\n"...)
		}
	}
	if t.inline {
		frame = append(frame, "\r\n"...)
	}
	for i, word := range words {
		words[i] = frame[at[i] : at[i]+len(word) : at[i]+len(word)]
	}
	return frame
}

// redisClient makes one client's commands; the words that don't change are made once.
type redisClient struct {
	w      *redis
	words  [][][]byte // by test
	frames [][]byte   // by test: the commands as they go over the wire, whose parts words are
	random [][]int    // which of them end in a random number
	data   []byte
}

func (g *redisClient) Next(r *load.Rand, op *driver.Op) {
	op.Type = 0
	if len(g.words) > 1 {
		op.Type = pick(g.w.bounds, r)
	}
	op.Values, op.Frame = g.words[op.Type], g.frames[op.Type]
	for _, i := range g.random[op.Type] {
		word := op.Values[i]
		appendRandom(word[:len(word)-randDigits], int64(r.Uint64N(uint64(g.w.keyspace))), true)
	}
	op.Key = nil
	if len(op.Values) > 1 {
		op.Key = op.Values[1]
	}
}
