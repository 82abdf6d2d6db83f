package sandbox

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Version is the first line that a program prints when it is asked for its version.
func Version(ctx context.Context, program string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, LastLines(string(out), 2))
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return strings.TrimSpace(line), nil
}
