package cstress

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// A Column is a column of a profile's table. Its values are in the form that the protocol of Cassandra has.
type Column struct {
	Name string
	Type string // of CQL, in lower case: "text", "set<int>"

	base, element string // "set" and "int" of "set<int>"
	frozen        bool
	salt          int64
	ids           stream
	size          Distribution
	cluster       stream
	inner         *Column // of a collection's elements
}

// scalars are the types that the tool makes values of.
var scalars = []string{"ascii", "text", "varchar", "bigint", "counter", "blob", "boolean", "decimal", "double", "float", "inet", "int", "varint", "timestamp", "uuid",
	"timeuuid", "tinyint", "smallint", "time", "date"}

var collection = regexp.MustCompile(`^(set|list)<(\w+)>$`)

// setType reads the type of a column.
func (c *Column) setType(text string) error {
	c.Type = strings.ToLower(strings.Join(strings.Fields(text), ""))
	plain := c.Type
	if inner, ok := strings.CutPrefix(plain, "frozen<"); ok {
		plain, c.frozen = strings.TrimSuffix(inner, ">"), true
	}
	c.base = plain
	if m := collection.FindStringSubmatch(plain); m != nil {
		c.base, c.element = m[1], m[2]
		if !slices.Contains(scalars, c.element) {
			return fmt.Errorf("column %s is of type %s: no values of it are made", c.Name, c.Type)
		}
		return nil
	}
	if !slices.Contains(scalars, c.base) {
		return fmt.Errorf("column %s is of type %s; there are %s, set and list of them", c.Name, c.Type, strings.Join(scalars, ", "))
	}
	return nil
}

// MaxBytes is the most that a value has.
func (c *Column) MaxBytes() int64 {
	switch c.base {
	case "ascii", "text", "varchar", "blob":
		return c.size.Max
	case "set", "list":
		return 4 + c.size.Max*(4+c.inner.MaxBytes())
	}
	return 16
}

// ready completes a column whose distributions are set where the profile has them.
func (c *Column) ready() {
	c.salt = murmur("seed for stress" + c.Name)
	if c.ids.d.kind == "" {
		c.ids.d = identities
		if c.base == "timestamp" || c.base == "timeuuid" {
			c.ids.d.Max = 50 * 365 * 24 * 60 * 60 * 1000
		}
	}
	if c.size.kind == "" {
		c.size = Distribution{kind: "uniform", Min: 4, Max: 8}
	}
	if c.cluster.d.kind == "" {
		c.cluster.d = Distribution{kind: "fixed", Min: 1, Max: 1}
	}
	if c.element != "" {
		c.inner = &Column{Name: c.Name, Type: c.element, base: c.element, ids: stream{d: c.ids.d}, size: c.size}
		if c.element == "timestamp" || c.element == "timeuuid" {
			c.inner.ids.d = Distribution{}
		}
		c.inner.ready()
	}
}

// copy is a column for another client.
func (c *Column) copy() *Column {
	out := *c
	if c.inner != nil {
		out.inner = c.inner.copy()
	}
	return &out
}

func (c *Column) seed(n int64) {
	c.ids.seed(n ^ c.salt)
	c.cluster.seed(n ^ ^c.salt)
	if c.inner != nil {
		c.inner.seed(n * 31)
	}
}

// append makes the next value behind the seed, and gives what it adds to the seeds of what depends on it.
func (c *Column) append(b []byte) ([]byte, share) {
	at := len(b)
	switch c.base {
	case "ascii", "text", "varchar", "blob":
		b = appendBytes(b, c.ids.next(), &c.size, c.base != "blob")
	case "set", "list":
		b = c.appendCollection(b)
	case "bigint", "counter", "time":
		n := c.ids.next()
		return binary.BigEndian.AppendUint64(b, uint64(n)), number(n)
	case "timestamp":
		b = binary.BigEndian.AppendUint64(b, uint64(c.ids.next()))
	case "int":
		n := int32(c.ids.next())
		return binary.BigEndian.AppendUint32(b, uint32(n)), number(int64(n))
	case "date": // days, of which the protocol has the middle of its range for 1970
		n := int32(c.ids.next())
		return binary.BigEndian.AppendUint32(b, uint32(n)+1<<31), number(int64(n))
	case "smallint":
		n := int16(c.ids.next())
		return binary.BigEndian.AppendUint16(b, uint16(n)), number(int64(n))
	case "tinyint":
		n := int8(c.ids.next())
		return append(b, byte(n)), number(int64(n))
	case "boolean":
		c.ids.next()
		b = append(b, 1) // as the tool makes them
	case "double":
		f := c.ids.float()
		return binary.BigEndian.AppendUint64(b, math.Float64bits(f)), number(int64(f))
	case "float":
		f := float32(c.ids.float())
		return binary.BigEndian.AppendUint32(b, math.Float32bits(f)), number(int64(f))
	case "varint":
		n := c.ids.next()
		return appendVarint(b, n), number(n)
	case "decimal":
		n := c.ids.next()
		return appendVarint(binary.BigEndian.AppendUint32(b, 0), n), number(n)
	case "inet":
		b = binary.BigEndian.AppendUint32(b, uint32(c.ids.next()))
	case "uuid":
		n := uint64(c.ids.next())
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, n), n), number(0)
	case "timeuuid":
		const epoch = -12219292800000 // of UUIDs, in ms
		t := uint64(c.ids.next()-epoch) * 10000
		high := t<<32 | t&0x0000ffff00000000>>16 | t&0x0fff000000000000>>48 | 0x1000
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, high), uint64(c.salt)), number(int64(high) ^ c.salt)
	}
	return b, share{bytes: b[at:]}
}

// appendCollection makes a list, or a set without what comes twice. The tool draws their sizes at random; here they come from the seed.
func (c *Column) appendCollection(b []byte) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	count := uint32(0)
	var seen []string
	for range c.size.seeded(c.ids.next()) {
		start := len(b)
		b, _ = c.inner.append(append(b, 0, 0, 0, 0))
		if v := b[start+4:]; c.base == "set" {
			if slices.Contains(seen, string(v)) {
				b = b[:start]
				continue
			}
			seen = append(seen, string(v))
		}
		binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
		count++
	}
	binary.BigEndian.PutUint32(b[at:], count)
	return b
}

// appendVarint appends a number in as few bytes of two's complement as it needs.
func appendVarint(b []byte, n int64) []byte {
	shift := 56
	for shift > 0 && n<<(64-shift)>>(64-shift) == n { // it fits into the bits below
		shift -= 8
	}
	for ; shift >= 0; shift -= 8 {
		b = append(b, byte(n>>shift))
	}
	return b
}

// share is what a value adds to a seed: a number, or its bytes.
type share struct {
	number int64
	bytes  []byte
	plain  bool // the number
}

func number(n int64) share { return share{number: n, plain: true} }

func (s share) into(n int64) int64 {
	if s.plain {
		return n*31 + s.number
	}
	for _, c := range s.bytes {
		n = 31*n + int64(int8(c))
	}
	return n
}
