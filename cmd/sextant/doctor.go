package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"sextant/builtins"
	"sextant/interp/driver"
	"sextant/interp/driver/sandbox"
)

func (e *env) doctorCommand() *cobra.Command {
	return &cobra.Command{Use: "doctor", Short: "Say which servers and limits this machine has, and what it would take", Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			rows := [][3]string{{"SYSTEM", "local()", "what there is, or what it would take"}}
			for _, d := range builtins.Drivers() {
				state, text := installedText(c.Context(), d)
				rows = append(rows, [3]string{d.Name, state, text})
			}
			rows = append(append(rows, [3]string{}, [3]string{"MACHINE"}), machineLines(os.ReadFile)...)
			for _, r := range rows {
				for i, l := range folded(r[2], e.width-doctorIndent) {
					if i > 0 {
						r[0], r[1] = "", ""
					}
					fmt.Fprintln(e.stdout, strings.TrimRight(fmt.Sprintf("%-18s %-15s %s", r[0], r[1], l), " "))
				}
			}
			return nil
		}}
}

// doctorIndent is where the third column begins.
const doctorIndent = 18 + 1 + 15 + 1

// folded cuts a text into lines of at most a width between its words; a width of 0 or less is none.
func folded(text string, width int) []string {
	out := []string{""}
	for _, w := range strings.Fields(text) {
		last := &out[len(out)-1]
		switch {
		case *last == "":
			*last = w
		case width > 0 && len(*last)+1+len(w) > width:
			out = append(out, w)
		default:
			*last += " " + w
		}
	}
	return out
}

// installedText is the line of a system: ready or missing, and why.
func installedText(ctx context.Context, d driver.Driver) (state, text string) {
	if d.Installed == nil {
		return "ready", "built in"
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	what, err := d.Installed(ctx)
	var de *driver.Error
	switch {
	case err == nil:
		return "ready", what
	case errors.As(err, &de) && de.Hint != "":
		return "missing", de.Hint
	}
	return "missing", err.Error()
}

// machineLines are name, value and advice ("" when it is fine) of what bounds and disturbs measurements on this machine.
func machineLines(read func(string) ([]byte, error)) [][3]string {
	text := func(path string) string {
		b, err := read(path)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	}
	out := [][3]string{{"CPU", fmt.Sprintf("%d cores", runtime.NumCPU()), map[bool]string{true: "clients and a local server share them: read client_cpu_pct"}[runtime.NumCPU() < 4]}}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil {
		advice := ""
		if files.Max < 65536 {
			advice = fmt.Sprintf("each client takes one or more: ulimit -n 65536 for more than %d clients", files.Max/4)
		}
		out = append(out, [3]string{"open files", fmt.Sprint(files.Max), advice})
	}
	var low, high int
	if _, err := fmt.Sscan(text("/proc/sys/net/ipv4/ip_local_port_range"), &low, &high); err == nil {
		advice := ""
		if high-low < 28000 {
			advice = "connections to one address at the same time, those just closed with them: sysctl net.ipv4.ip_local_port_range"
		}
		out = append(out, [3]string{"client ports", fmt.Sprint(high - low + 1), advice})
	}
	if m := field(text("/proc/meminfo"), "MemAvailable:"); m != "" {
		out = append(out, [3]string{"free memory", m, ""})
	}
	if g := text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"); g != "" {
		advice := ""
		if g != "performance" {
			advice = "the clock follows the load: cpupower frequency-set -g performance"
		}
		out = append(out, [3]string{"CPU governor", g, advice})
	}
	if l, _, ok := strings.Cut(text("/proc/loadavg"), " "); ok {
		out = append(out, [3]string{"load average", l, "more than half of the cores means that something else is running"})
	}
	return append(out, [3]string{"throwaway servers", sandbox.Base(), memoryAdvice(sandbox.Base())})
}

// field is the rest of the line that begins with a name.
func field(text, name string) string {
	for l := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(l, name); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// memoryAdvice says when a folder, or the nearest one above it that is there, lies in memory.
func memoryAdvice(dir string) string {
	for len(dir) > 1 {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	if sandbox.Filesystem(dir) == sandbox.InMemory {
		return "it lies in memory, so nothing there is ever synced to a disk: set SEXTANT_TMPDIR to a folder on the disk"
	}
	return ""
}
