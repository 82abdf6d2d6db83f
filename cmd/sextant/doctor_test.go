package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestFolded(t *testing.T) {
	for _, x := range []struct {
		text  string
		width int
		want  string
	}{{"a bb ccc", 4, "[a bb ccc]"}, {"a bb ccc", 0, "[a bb ccc]"}, {"", 5, "[]"}, {"averylongword x", 5, "[averylongword x]"}} {
		got := folded(x.text, x.width)
		if fmt.Sprint(got) != x.want {
			t.Errorf("%q at %d: %q", x.text, x.width, got)
		}
		for _, l := range got {
			if x.width > 0 && len(l) > x.width && strings.Contains(l, " ") {
				t.Errorf("%q is longer than %d", l, x.width)
			}
		}
	}
	if n := len(folded("a bb ccc", 4)); n != 2 {
		t.Errorf("%d lines", n)
	}
}

// What disturbs measurements is said with what to do; what this machine doesn't tell is left out.
func TestMachineAdvice(t *testing.T) {
	files := map[string]string{"/proc/sys/net/ipv4/ip_local_port_range": "50000\t51000\n", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n", "/proc/meminfo": "MemTotal: 9 kB\nMemAvailable:  5 kB\n"}
	text := fmt.Sprint(machineLines(func(name string) ([]byte, error) {
		if b, ok := files[name]; ok {
			return []byte(b), nil
		}
		return nil, os.ErrNotExist
	}))
	for _, want := range []string{"[client ports 1001 connections to one address", "[CPU governor powersave the clock follows the load", "[free memory 5 kB ]"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	if strings.Contains(text, "load average") {
		t.Error(text)
	}
}
