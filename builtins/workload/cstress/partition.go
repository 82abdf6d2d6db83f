package cstress

import (
	"bytes"
	"slices"
)

// A Table is a profile's table: the columns of the partition key, those that order the rows within, and the others.
type Table struct {
	Name       string
	Body       string // of CREATE TABLE, from its parenthesis on
	Partition  []*Column
	Clustering []*Column
	Values     []*Column
}

// Columns are all, in that order.
func (t *Table) Columns() []*Column {
	return append(append(append([]*Column{}, t.Partition...), t.Clustering...), t.Values...)
}

// Index is the place of a column in Columns, or -1.
func (t *Table) Index(name string) int {
	for i, c := range t.Columns() {
		if c.Name == name {
			return i
		}
	}
	return -1
}

// MaxRows is the most rows that a partition has.
func (t *Table) MaxRows() float64 {
	n := 1.0
	for _, c := range t.Clustering {
		n *= float64(c.cluster.d.Max)
	}
	return n
}

// A Walker makes the rows of one partition after another, in the order of the clustering columns' values as they are drawn. It belongs to one
// client. All values of a clustering column go with all of the next one, as the tool has it: seeds below come from the first value alone.
type Walker struct {
	table    *Table
	key      [][]byte
	levels   [][][]byte // values of each clustering column
	leaf     []share    // of the values of the last level
	seeds    []int64    // of the rows with them
	expected float64    // rows, as the tool reckons
	below    []float64  // average rows below a value of each level
	last     []int      // the last value of each level that an insert gets to
	row      [][]byte
	at       []int
	visit    Visit
}

// Walker makes one.
func (t *Table) Walker() *Walker {
	own := &Table{Name: t.Name}
	for _, c := range t.Partition {
		own.Partition = append(own.Partition, c.copy())
	}
	for _, c := range t.Clustering {
		own.Clustering = append(own.Clustering, c.copy())
	}
	for _, c := range t.Values {
		own.Values = append(own.Values, c.copy())
	}
	w := &Walker{table: own, key: make([][]byte, len(own.Partition)), levels: make([][][]byte, len(own.Clustering)), below: make([]float64, len(own.Clustering)),
		row: make([][]byte, len(own.Columns())), at: make([]int, len(own.Clustering))}
	n := 1.0
	for i := len(w.below) - 1; i >= 0; i-- {
		w.below[i] = n
		n *= float64(own.Clustering[i].cluster.d.average())
	}
	w.decompose(int(t.MaxRows()))
	return w
}

// decompose finds where the tool expects the end of a partition, by the averages of its levels.
func (w *Walker) decompose(position int) {
	w.last = make([]int, len(w.below))
	for i, n := range w.below {
		w.last[i] = position / max(int(n), 1)
		position %= max(int(n), 1)
	}
	for i := len(w.last) - 1; i > 0; i-- {
		if n := max(int(w.table.Clustering[i].cluster.d.average()), 1); w.last[i] >= n {
			w.last[i-1] += w.last[i] / n
			w.last[i] %= n
		}
	}
}

// Open draws the partition of a seed.
func (w *Walker) Open(seed int64) {
	id := int64(0)
	for i, c := range w.table.Partition {
		c.seed(seed)
		var s share
		w.key[i], s = c.append(w.key[i][:0])
		id = s.into(id)
	}
	w.seeds = append(w.seeds[:0], id)
	for d, c := range w.table.Clustering {
		c.seed(id)
		n := c.cluster.next()
		if d == 0 {
			w.expected = float64(n) * w.below[0]
		}
		values, leaf := w.levels[d][:0], w.leaf[:0]
		for range max(n, 1) {
			var old []byte
			if len(values) < cap(values) {
				old = values[:len(values)+1][len(values)][:0]
			}
			v, s := c.append(old)
			if !slices.ContainsFunc(values, func(x []byte) bool { return bytes.Equal(x, v) }) {
				values, leaf = append(values, v), append(leaf, s)
			}
		}
		w.levels[d], w.leaf = values, leaf
		id = leaf[0].into(id)
	}
	if len(w.levels) == 0 {
		return
	}
	w.seeds = w.seeds[:0]
	for _, s := range w.leaf {
		w.seeds = append(w.seeds, s.into(id))
	}
}

// A Visit is how rows of a partition are visited.
type Visit struct {
	Chance    float64 // by which each value of the first clustering column is, with all rows below it; where none was, the last one is
	Populated float64 // the share of the columns that have a value
	// Insert: the rows that the tool's inserts get to. With three and more clustering columns these are not all: it stops where one between the first and
	// the last has had as many values as the average partition's end has.
	Insert bool
}

// Rows calls fn for the rows of the open partition that are visited. The columns are in the order of Columns and are valid until the next row; those
// without a value are nil. fn says whether to go on.
func (w *Walker) Rows(v Visit, r Source, fn func(row [][]byte) bool) {
	w.visit = v
	copy(w.row, w.key)
	if len(w.levels) == 0 {
		w.fill(w.seeds[0], v.Populated)
		fn(w.row)
		return
	}
	clear(w.at)
	none := true
	for i := range w.levels[0] {
		if last := i == len(w.levels[0])-1; v.Chance < 0.99999 && !(last && none) && r.Float64() > v.Chance {
			continue
		}
		none = false
		w.at[0] = i
		if !w.descend(1, fn) {
			return
		}
	}
}

func (w *Walker) descend(level int, fn func(row [][]byte) bool) bool {
	if level < len(w.levels) {
		for i := range w.levels[level] {
			w.at[level] = i
			if !w.descend(level+1, fn) {
				return false
			}
			if w.visit.Insert && level < len(w.levels)-1 && i >= w.last[level] {
				return false
			}
		}
		return true
	}
	for d, i := range w.at {
		w.row[len(w.key)+d] = w.levels[d][i]
	}
	w.fill(w.seeds[w.at[len(w.at)-1]], w.visit.Populated)
	return fn(w.row)
}

// fill makes the values of a row.
func (w *Walker) fill(seed int64, populated float64) {
	from, n := len(w.row)-len(w.table.Values), len(w.table.Values)
	for i, c := range w.table.Values {
		if float64(i+1)/float64(n) > populated {
			w.row[from+i] = nil
			continue
		}
		c.seed(seed)
		w.row[from+i], _ = c.append(w.row[from+i][:0])
	}
}

// Chance is that by which a query of so many rows visits the open partition.
func (w *Walker) Chance(rows int) float64 {
	if len(w.levels) == 0 {
		return 1
	}
	return min(max(float64(rows)/w.expected, 0), 1)
}
