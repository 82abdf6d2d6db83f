package run

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// machineFacts notes what makes measurements on this machine noisy, and says it in a sentence where it matters. What the
// system doesn't tell (or another system than Linux has) is left out.
func (r *Runner) machineFacts() {
	for _, w := range r.noteMachine(os.ReadFile) {
		r.event("", "warning", w)
	}
}

func (r *Runner) noteMachine(read func(string) ([]byte, error)) (warnings []string) {
	text := func(path string) string {
		b, err := read(path)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	}
	note := func(key, value string) {
		if value != "" {
			r.fact("", key, value)
		}
	}
	warn := func(format string, a ...any) { warnings = append(warnings, fmt.Sprintf(format, a...)) }
	if g := text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"); g != "" {
		note("cpu_governor", g)
		if g != "performance" {
			warn("the CPU governor is %q: the clock follows the load, so short trials may run at another speed than long ones", g)
		}
	}
	switch {
	case text("/sys/devices/system/cpu/intel_pstate/no_turbo") == "0", text("/sys/devices/system/cpu/cpufreq/boost") == "1":
		note("cpu_turbo", "on")
	case text("/sys/devices/system/cpu/intel_pstate/no_turbo") == "1", text("/sys/devices/system/cpu/cpufreq/boost") == "0":
		note("cpu_turbo", "off")
	}
	note("numa_nodes_online", text("/sys/devices/system/node/online"))
	cores := float64(runtime.NumCPU())
	if f := strings.Fields(text("/proc/loadavg")); len(f) > 0 {
		if load, err := strconv.ParseFloat(f[0], 64); err == nil && load > cores/2 {
			warn("the load average at the start is %.1f on %v cores: something else is running", load, cores)
		}
	}
	group := controlGroup(text)
	if m := text(filepath.Join(group, "cpu.max")); m != "" && !strings.HasPrefix(m, "max") {
		note("cgroup_cpu_max", m)
		warn("a control group limits the CPU of sextant (cpu.max is %q): trials that reach it are marked throttled", m)
	}
	if m := text(filepath.Join(group, "memory.max")); m != "" && m != "max" {
		note("cgroup_memory_max", m)
	}
	for _, what := range []string{"cpu", "memory", "io"} {
		p := pressure(text("/proc/pressure/" + what))
		note("pressure_"+what+"_avg10", p)
		if v, err := strconv.ParseFloat(p, 64); err == nil && v > 5 && what != "cpu" {
			warn("tasks waited for %s %v %% of the last ten seconds before the start", what, v)
		}
	}
	return warnings
}

// controlGroup is the folder of this process's control group (version 2).
func controlGroup(text func(string) string) string {
	_, path, _ := strings.Cut(text("/proc/self/cgroup"), "0::")
	path, _, _ = strings.Cut(path, "\n")
	return filepath.Join("/sys/fs/cgroup", path)
}

// pressure is avg10 of the line "some avg10=0.00 avg60=... total=...".
func pressure(text string) string {
	_, rest, ok := strings.Cut(text, "some avg10=")
	if !ok {
		return ""
	}
	v, _, _ := strings.Cut(rest, " ")
	return v
}
