package workload

import (
	"sextant/interp/driver"
	"sextant/interp/load"
)

// dockerMixes are the six mixes of the comparison of databases in containers (shared definitions): 500,000 records of about
// 1 KB, a UUID as the key, uniform access, an update changes three fields.
func dockerMixes() []core {
	return []core{
		{name: "w1", weights: map[string]float64{"insert": 1}},
		{name: "w2", weights: map[string]float64{"read": 1}},
		{name: "w3", weights: map[string]float64{"read": 0.9, "update": 0.1}},
		{name: "w4", weights: map[string]float64{"read": 0.5, "update": 0.5}},
		{name: "w5", weights: map[string]float64{"read": 0.1, "update": 0.9}},
		{name: "w6", weights: map[string]float64{"update": 1}},
	}
}

func dockerNames() []string {
	var out []string
	for _, c := range dockerMixes() {
		out = append(out, c.name)
	}
	return out
}

// dockerMix reads the parameters of workload.mix.
func dockerMix(p map[string]any) (mix, error) {
	m := mix{dist: map[string]any{"$": "uniform"}, updates: 3, scanMax: 1, key: appendRecordUUID, made: "docker",
		table: driver.Table{Name: "people", Key: "_id", Rows: p["records"].(int64)}}
	add := func(name string, g *gen) {
		c := g.column
		c.Name = name
		m.table.Fields, m.gens = append(m.table.Fields, c), append(m.gens, g)
	}
	words := func(name string) *gen { g, _ := genOf(map[string]any{"$": name}); return g } // these exist
	add("client", &gen{column: driver.Column{Bytes: 18}, text: func(b []byte, r *load.Rand, _ int64) []byte {
		b = append(b, "client"...)
		for range 12 {
			b = append(b, '0'+byte(r.Uint64N(10)))
		}
		return b
	}})
	add("name", words("person_name"))
	add("email", words("email_address"))
	add("phone", words("phone_number"))
	add("age", &gen{column: intColumn(18, 90), number: func(r *load.Rand, _ int64) int64 { return 18 + int64(r.Uint64N(73)) }})
	add("country", words("country_name"))
	for _, name := range []string{"attr0", "attr1", "attr2", "attr3", "attr4"} {
		m.changed = append(m.changed, len(m.table.Fields))
		g, err := genOf(map[string]any{"$": "random_text", "bytes": int64(200)})
		if err != nil {
			return m, err
		}
		add(name, g)
	}
	m.changed = m.changed[:m.updates]
	for _, c := range dockerMixes() {
		if c.name == p["mix"] {
			m.addOps(c.weights)
		}
	}
	return m, nil
}

// recordStream keeps the keys' numbers apart from all others.
const recordStream = 0x5eed_0f_0d

// appendRecordUUID is the key of record n: a UUID that is a function of n.
func appendRecordUUID(b []byte, n int64) []byte {
	var r load.Rand
	r.Seek(recordStream, 0, uint64(n))
	return appendUUID(b, &r, n)
}
