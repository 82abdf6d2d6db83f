package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sextant/interp/spec"
)

// A Server is one process that runs in a sandbox.
type Server struct {
	cmd  *exec.Cmd
	log  string        // its output
	done chan struct{} // closed when it has ended and is waited for
	err  error
}

// An Account is the user that a server runs as, where it refuses root. The zero Account is this process's own.
type Account struct {
	Name     string
	UID, GID uint32
}

// Unprivileged is the account for a server that refuses root: the first of the names that exists, when this process is
// root; otherwise this process's own.
func Unprivileged(names ...string) (Account, error) {
	if os.Getuid() != 0 {
		return Account{}, nil
	}
	for _, n := range names {
		u, err := user.Lookup(n)
		if err != nil {
			continue
		}
		uid, uerr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
		if uerr == nil && gerr == nil {
			return Account{n, uint32(uid), uint32(gid)}, nil
		}
	}
	return Account{}, fmt.Errorf("the server refuses to run as root, and none of the users %s exists", strings.Join(names, ", "))
}

// Give makes an account the owner of a path.
func (a Account) Give(path string) error {
	if a.Name == "" {
		return nil
	}
	return os.Chown(path, int(a.UID), int(a.GID))
}

// Command prepares a program of the sandbox: with this account, a cleared environment and a process group of its own (so
// that Ctrl-C in the terminal doesn't reach it).
func (s *Sandbox) Command(ctx context.Context, a Account, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = s.Dir
	cmd.Env = []string{"LANG=C", "LC_ALL=C", "PATH=" + filepath.Dir(program) + ":/usr/local/bin:/usr/bin:/bin", "HOME=" + s.Dir, "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if a.Name != "" {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: a.UID, Gid: a.GID}
	}
	return cmd
}

// Start runs a server whose output goes to log (a file name within the sandbox). The command must name the sandbox's
// folder among its arguments, or it could not be recognized later.
func (s *Sandbox) Start(cmd *exec.Cmd, log string) (*Server, error) {
	if !strings.Contains(strings.Join(cmd.Args, " "), s.Dir) {
		return nil, fmt.Errorf("starting %s: its arguments don't name its folder", cmd.Path)
	}
	f, err := os.OpenFile(s.Path(log), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", cmd.Path, err), f.Close())
	}
	srv := &Server{cmd: cmd, log: s.Path(log), done: make(chan struct{})}
	go func() {
		srv.err = errors.Join(cmd.Wait(), f.Close())
		close(srv.done)
	}()
	if err := s.note(cmd.Process.Pid); err != nil {
		return nil, errors.Join(err, srv.Stop(syscall.SIGKILL, time.Second))
	}
	return srv, nil
}

// PID is the process's id.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Alive says whether the process runs.
func (s *Server) Alive() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// Done is closed when the process has ended.
func (s *Server) Done() <-chan struct{} { return s.done }

// Stop asks the process to end by a signal and kills it with all its children when it hasn't within the grace period.
func (s *Server) Stop(sig syscall.Signal, grace time.Duration) error {
	if !s.Alive() {
		return nil
	}
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping process %d: %w", s.PID(), err)
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-s.done:
		return nil
	case <-t.C:
	}
	if err := killFamily(s.PID()); err != nil {
		return err
	}
	<-s.done
	return nil
}

// killFamily kills a process and its descendants, and waits until it is gone.
func killFamily(pid int) error {
	family := append([]int{pid}, Children(pid)...)
	for _, p := range family {
		if err := syscall.Kill(p, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("ending process %d: %w", p, err)
		}
	}
	for range 500 {
		gone := true
		for _, p := range family {
			gone = gone && !running(p)
		}
		if gone {
			return nil
		}
		time.Sleep(10 * time.Millisecond) // another process's end can't be waited for otherwise
	}
	return fmt.Errorf("process %d does not end", pid)
}

// running says whether a process exists and is more than a zombie.
func running(pid int) bool {
	state, _, err := stat(pid)
	return err == nil && state != "Z"
}

// stat reads state and parent of a process.
func stat(pid int) (state string, parent int, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, err
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:])) // the name before may hold anything
	if len(f) < 2 {
		return "", 0, fmt.Errorf("process %d: unreadable state", pid)
	}
	parent, err = strconv.Atoi(f[1])
	return f[0], parent, err
}

// Children are the descendants of a process.
func Children(pid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	kids := map[int][]int{}
	for _, e := range entries {
		p, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if _, parent, err := stat(p); err == nil {
			kids[parent] = append(kids[parent], p)
		}
	}
	var out []int
	for queue := kids[pid]; len(queue) > 0; queue = queue[1:] {
		out = append(out, queue[0])
		queue = append(queue, kids[queue[0]]...)
	}
	return out
}

// FreePort is a TCP port on loopback that nobody listens on now.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("looking for a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port // a TCP listener's address
	return port, l.Close()
}

// Processes are the ids of a server and all its descendants; nil when there is none or it has ended.
func (s *Server) Processes() []int {
	if s == nil || !s.Alive() {
		return nil
	}
	return append([]int{s.PID()}, Children(s.PID())...)
}

// LastLines are the last lines of a server's output, in one. Where Java was in its own code says nothing to anyone.
func LastLines(text string, n int) string {
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(text), "\n"), func(l string) bool {
		l = strings.TrimSpace(l)
		return strings.HasPrefix(l, "at ") && strings.HasSuffix(l, ")") || strings.HasPrefix(l, "... ") && strings.HasSuffix(l, " more")
	})
	return strings.Join(lines[max(len(lines)-n, 0):], "; ")
}

// CheckSettings is the Check of a parameter with settings of a throwaway server: names of these letters, none that is
// reserved, values of plain types.
func CheckSettings(v any, letters string, reserved ...string) error {
	m, _ := v.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if name == "" || strings.Trim(name, letters) != "" {
			return fmt.Errorf("names %q, which is no setting", name)
		}
		if slices.Contains(reserved, name) {
			return fmt.Errorf("can't change %s: sextant needs it to reach the server", name)
		}
		switch m[name].(type) {
		case bool, int64, float64, string:
		default:
			return fmt.Errorf("gives %s the value %s, which is no text, number, True or False", name, spec.Display(m[name]))
		}
	}
	return nil
}

// Settings are the names and texts of the parameter that CheckSettings has checked, in order; yes and no are the system's words for
// True and False.
func Settings(v any, yes, no string) [][2]string {
	m, _ := v.(map[string]any)
	var out [][2]string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		text := spec.Display(m[name])
		switch m[name] {
		case true:
			text = yes
		case false:
			text = no
		}
		out = append(out, [2]string{name, text})
	}
	return out
}
