package workload

import "sextant/interp/driver"

// core is one of YCSB's core workloads.
type core struct {
	name    string
	weights map[string]float64
	dist    map[string]any
}

func cores() []core {
	zipf := map[string]any{"$": "scrambled_zipfian"}
	return []core{
		{"a", map[string]float64{"read": 0.5, "update": 0.5}, zipf},
		{"b", map[string]float64{"read": 0.95, "update": 0.05}, zipf},
		{"c", map[string]float64{"read": 1}, zipf},
		{"d", map[string]float64{"read": 0.95, "insert": 0.05}, map[string]any{"$": "latest", "theta": ycsbTheta}},
		{"e", map[string]float64{"scan": 0.95, "insert": 0.05}, zipf},
		{"f", map[string]float64{"read": 0.5, "read-modify-write": 0.5}, zipf},
	}
}

func ycsbNames() []string {
	var out []string
	for _, c := range cores() {
		out = append(out, c.name)
	}
	return out
}

// ycsbMix reads the parameters of workload.ycsb: table usertable with key ycsb_key and field0.., reads take all fields,
// an update writes one field at random.
func ycsbMix(p map[string]any) (mix, error) {
	m := mix{updates: 1, scanMax: p["scan_max"].(int64), table: driver.Table{Name: "usertable", Key: "ycsb_key",
		Rows: p["records"].(int64), Fields: columns(p["fields"].(int64), p["field_bytes"].(int64))}}
	for _, c := range cores() {
		if c.name == p["workload"] {
			m.dist = c.dist
			m.addOps(c.weights)
		}
	}
	if d, ok := p["distribution"].(map[string]any); ok {
		m.dist = d
	}
	return m, nil
}
