package workload

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// ycsbDefaults are the properties of YCSB's core workload that are understood, with its defaults (YCSB documentation, "Core
// Properties"). Those whose value can only be the default stand in ycsbFixed.
func ycsbDefaults() map[string]string {
	return map[string]string{
		"recordcount": "0", "operationcount": "", "fieldcount": "10", "fieldlength": "100", "requestdistribution": "uniform", "maxscanlength": "1000",
		"readproportion": "0.95", "updateproportion": "0.05", "insertproportion": "0", "scanproportion": "0", "readmodifywriteproportion": "0",
		"table": "usertable", "hotspotdatafraction": "0.2", "hotspotopnfraction": "0.8", "exponential.percentile": "95", "exponential.frac": "0.8571428571",
		"threadcount": "", "target": "", "maxexecutiontime": "", "measurementtype": "", "hdrhistogram.percentiles": "", "status.interval": "",
	}
}

func ycsbFixed() map[string][]string {
	return map[string][]string{
		"workload":      {"site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload", "core"},
		"readallfields": {"true"}, "writeallfields": {"false"}, "insertorder": {"hashed"}, "fieldlengthdistribution": {"constant"}, "scanlengthdistribution": {"uniform"},
		"dataintegrity": {"false"}, "insertstart": {"0"}, "zeropadding": {"1"}, "minscanlength": {"1"},
	}
}

// ycsbFile reads the parameters of workload.ycsb_file. What belongs to the run and not to the workload (threadcount, target,
// operationcount, ...) is left to the experiment.
func ycsbFile(p map[string]any) (mix, error) {
	file, _ := p["file"].(map[string]any)
	name, _ := file["value"].(string)
	text, _ := file["text"].(string)
	bad := func(line int, format string, a ...any) error {
		return &spec.ParamError{Param: "file", Msg: fmt.Sprintf("%s, line %d: ", name, line) + fmt.Sprintf(format, a...)}
	}
	got, lines := ycsbDefaults(), map[string]int{}
	known := slices.Sorted(maps.Keys(got))
	known = append(known, slices.Sorted(maps.Keys(ycsbFixed()))...)
	n := 0
	for l := range strings.Lines(text) {
		n++
		l = strings.TrimSpace(l)
		if l == "" || l[0] == '#' || l[0] == '!' {
			continue
		}
		i := strings.IndexAny(l, "=:")
		if i < 0 {
			return mix{}, bad(n, "%q is no property: write name=value", l)
		}
		k, v := strings.TrimSpace(l[:i]), strings.TrimSpace(l[i+1:])
		if allowed := ycsbFixed()[k]; allowed != nil {
			if !slices.Contains(allowed, v) {
				return mix{}, bad(n, "%s=%s is not supported, only %s", k, v, strings.Join(allowed, ", "))
			}
			continue
		}
		if _, ok := got[k]; !ok {
			hint := ""
			if near := spec.Nearest(k, known); near != "" {
				hint = fmt.Sprintf("; did you mean %s?", near)
			}
			return mix{}, bad(n, "unknown property %q%s", k, hint)
		}
		got[k], lines[k] = v, n
	}
	whole := func(k string, low, high int64) (int64, error) {
		v, err := strconv.ParseInt(got[k], 10, 64)
		if err != nil || v < low || v > high {
			return 0, bad(lines[k], "%s must be a whole number from %d to %d, not %q", k, low, high, got[k])
		}
		return v, nil
	}
	share := func(k string) (float64, error) {
		v, err := strconv.ParseFloat(got[k], 64)
		if err != nil || !(v >= 0 && v <= 100) {
			return 0, bad(lines[k], "%s must be a number from 0, not %q", k, got[k])
		}
		return v, nil
	}
	m := mix{updates: 1, table: driver.Table{Name: got["table"], Key: "ycsb_key"}}
	if err := identifier(m.table.Name); err != nil {
		return m, bad(lines["table"], "%v", err)
	}
	fields, err := whole("fieldcount", 1, 1000)
	if err != nil {
		return m, err
	}
	length, err := whole("fieldlength", 1, maxField)
	if err != nil {
		return m, err
	}
	m.table.Fields = columns(fields, length)
	if m.scanMax, err = whole("maxscanlength", 1, 1<<31); err != nil {
		return m, err
	}
	if given, ok := p["records"].(int64); ok {
		m.table.Rows = given
	} else if m.table.Rows, err = whole("recordcount", 1, 1<<62); err != nil {
		return m, err
	}
	weights := map[string]float64{}
	var sum float64
	for action, k := range map[string]string{"read": "readproportion", "update": "updateproportion", "insert": "insertproportion", "scan": "scanproportion",
		"read-modify-write": "readmodifywriteproportion"} {
		if weights[action], err = share(k); err != nil {
			return m, err
		}
		sum += weights[action]
	}
	if sum <= 0 {
		return m, bad(n, "no proportion is above 0")
	}
	m.addOps(weights)
	m.dist, err = ycsbDistribution(got, share)
	if err != nil {
		return m, bad(lines["requestdistribution"], "%v", err)
	}
	return m, nil
}

func ycsbDistribution(got map[string]string, share func(string) (float64, error)) (map[string]any, error) {
	switch d := got["requestdistribution"]; d {
	case "uniform", "sequential":
		return map[string]any{"$": d}, nil
	case "zipfian":
		return map[string]any{"$": "scrambled_zipfian"}, nil
	case "latest":
		return map[string]any{"$": "latest", "theta": ycsbTheta}, nil
	case "hotspot":
		keys, err := share("hotspotdatafraction")
		if err != nil {
			return nil, err
		}
		ops, err := share("hotspotopnfraction")
		return map[string]any{"$": "hotspot", "keys": keys, "operations": ops}, err
	case "exponential":
		p, err := share("exponential.percentile")
		if err != nil {
			return nil, err
		}
		f, err := share("exponential.frac")
		return map[string]any{"$": "exponential", "percentile": p, "fraction": f}, err
	default:
		return nil, fmt.Errorf("requestdistribution %q is not known; there are uniform, zipfian, latest, hotspot, exponential, sequential", d)
	}
}
