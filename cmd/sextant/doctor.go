package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sextant/builtins"
	"sextant/interp/driver"
	"sextant/interp/driver/sandbox"
)

func (e *env) doctorCommand() *cobra.Command {
	return &cobra.Command{Use: "doctor", Short: "Say which servers and limits this machine has, and what it would take", Args: args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			t := tabwriter.NewWriter(e.stdout, 0, 8, 2, ' ', 0)
			fmt.Fprintln(t, "SYSTEM\tlocal()\twhat there is, or what it would take")
			for _, d := range builtins.Drivers() {
				state, text := installedText(c.Context(), d)
				fmt.Fprintf(t, "%s\t%s\t%s\n", d.Name, state, text)
			}
			fmt.Fprintln(t, "\t\t\nMACHINE\t\t")
			for _, l := range machineLines(os.ReadFile) {
				fmt.Fprintf(t, "%s\t%s\t%s\n", l[0], l[1], l[2])
			}
			return t.Flush()
		}}
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
	var st syscall.Statfs_t
	for syscall.Statfs(dir, &st) != nil && len(dir) > 1 {
		dir = dir[:max(strings.LastIndexByte(dir, '/'), 1)]
	}
	const tmpfs = 0x01021994
	if st.Type == tmpfs {
		return "it lies in memory, so nothing there is ever synced to a disk: set SEXTANT_TMPDIR to a folder on the disk"
	}
	return ""
}
