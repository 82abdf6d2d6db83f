// Package sandbox keeps throwaway servers from outliving sextant: each has a folder of its own that is removed with it,
// even when sextant was killed and could not do that itself.
//
// Map of the package:
//
//	Sandbox   one folder, held by a lock that dies with the process; Start runs a server in it, Remove ends all
//	Server    a running process of the sandbox: Alive, Stop
//	Startup   the wait until servers that were started are ready
//	Remember  settings of a server that exists, as they were before sextant changed them
//	Clean     ends what dead processes have left: called whenever a sandbox is made
//
// A sandbox lies in Base (a folder per user under the system's temporary folder, or SEXTANT_TMPDIR). Its `owner` file is
// locked by the process that made it; a free lock means that the owner is dead. Its `pids` file lists the servers. A
// listed process is ended only if the sandbox's folder stands on its command line.
package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A Sandbox is one throwaway folder.
type Sandbox struct {
	Dir  string
	lock *os.File
}

// Base is the folder of all sandboxes of this user.
func Base() string {
	if d := os.Getenv("SEXTANT_TMPDIR"); d != "" {
		return d
	}
	return filepath.Join(os.TempDir(), "sextant-"+strconv.Itoa(os.Getuid()))
}

// New makes a sandbox whose name begins with kind, after cleaning up what dead owners have left.
func New(kind string) (*Sandbox, error) {
	base := Base()
	if err := os.MkdirAll(base, 0o711); err != nil {
		return nil, fmt.Errorf("making the folder for throwaway servers: %w", err)
	}
	if err := Clean(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(base, kind+"-")
	if err != nil {
		return nil, fmt.Errorf("making the folder of a throwaway %s: %w", kind, err)
	}
	s := &Sandbox{Dir: dir}
	if err := errors.Join(os.Chmod(dir, 0o711), s.own()); err != nil {
		return nil, errors.Join(fmt.Errorf("making the folder of a throwaway %s: %w", kind, err), os.RemoveAll(dir))
	}
	return s, nil
}

// own locks the owner file. It is locked before it has its name, so that no Clean can see it unlocked.
func (s *Sandbox) own() error {
	f, err := os.CreateTemp(s.Dir, "owner-*")
	if err != nil {
		return err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return errors.Join(err, f.Close())
	}
	s.lock = f
	return os.Rename(f.Name(), filepath.Join(s.Dir, "owner"))
}

// Path joins a name to the sandbox's folder.
func (s *Sandbox) Path(name string) string { return filepath.Join(s.Dir, name) }

// Remove ends every process of the sandbox that still runs and removes the folder.
func (s *Sandbox) Remove() error {
	err := errors.Join(endAll(s.Dir), os.RemoveAll(s.Dir))
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
		s.lock = nil
	}
	return err
}

// Clean removes the sandboxes whose owner is dead, with their processes. Sandboxes of living owners stay.
func Clean() error {
	entries, err := os.ReadDir(Base())
	if err != nil {
		return fmt.Errorf("looking for left-over throwaway servers: %w", err)
	}
	for _, e := range entries {
		dir := filepath.Join(Base(), e.Name())
		f, err := os.OpenFile(filepath.Join(dir, "owner"), os.O_RDWR, 0)
		if err != nil {
			continue // being made, or not ours
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			if err := errors.Join(endAll(dir), os.RemoveAll(dir)); err != nil {
				return errors.Join(fmt.Errorf("removing what a killed sextant has left in %s: %w", dir, err), f.Close())
			}
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// note writes a server's process id down, before anything can go wrong with it.
func (s *Sandbox) note(pid int) error {
	f, err := os.OpenFile(s.Path("pids"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("noting a server's process: %w", err)
	}
	_, err = fmt.Fprintln(f, pid)
	return errors.Join(err, f.Close())
}

// endAll kills the processes that a sandbox lists and that still belong to it.
func endAll(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, "pids"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, line := range strings.Fields(string(b)) {
		pid, err := strconv.Atoi(line)
		if err != nil || !belongs(pid, dir) {
			continue
		}
		if err := killFamily(pid); err != nil {
			return err
		}
	}
	return nil
}

// belongs says whether a process has the folder on its command line.
func belongs(pid int, dir string) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.Contains(string(b), dir)
}
