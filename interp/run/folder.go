package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sextant/interp/lang"
)

// makeFolder creates results/<experiment>/<run id> exclusively and returns its path and id.
func makeFolder(out, experiment string, now time.Time) (dir, id string, err error) {
	parent := filepath.Join(out, experiment)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", "", fmt.Errorf("making the folder of the results: %w", err)
	}
	stamp := now.UTC().Format("20060102T150405Z")
	for n := 1; ; n++ {
		id = stamp
		if n > 1 {
			id = fmt.Sprintf("%s-%d", stamp, n)
		}
		dir = filepath.Join(parent, id)
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			return dir, id, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return "", "", fmt.Errorf("making the run folder: %w", err)
		}
	}
}

// A Lock keeps a run folder for one process. The operating system lets it go when the process ends, however it ends.
type Lock struct{ f *os.File }

// LockFolder takes the lock of a run folder, or says who has it.
func LockFolder(dir string) (*Lock, error) {
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the run: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		holder, rerr := os.ReadFile(f.Name())
		who := strings.TrimSpace(string(holder))
		if rerr != nil || who == "" {
			who = "another process"
		}
		return nil, errors.Join(fmt.Errorf("the run in %s is being worked on by %s", dir, who), f.Close())
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	who := fmt.Sprintf("process %d on %s, since %s\n", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339))
	if err := errors.Join(f.Truncate(0), writeAt(f, who)); err != nil {
		return nil, errors.Join(fmt.Errorf("writing the lock of the run: %w", err), f.Close())
	}
	return &Lock{f}, nil
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// Unlock lets the folder go.
func (l *Lock) Unlock() error { return l.f.Close() }

// copyScript writes the script and everything it loads into the run folder.
func copyScript(dir string, p *lang.Program) error {
	for _, s := range p.Sources {
		path := filepath.Join(dir, "script", filepath.FromSlash(s.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("copying the script: %w", err)
		}
		if err := os.WriteFile(path, s.Content, 0o644); err != nil {
			return fmt.Errorf("copying the script: %w", err)
		}
	}
	return nil
}

// pointLatest makes results/<experiment>/latest lead to the run.
func pointLatest(dir string) error {
	parent, id := filepath.Split(dir)
	tmp := filepath.Join(parent, ".latest-"+id)
	if err := errors.Join(os.Symlink(id, tmp), os.Rename(tmp, filepath.Join(parent, "latest"))); err != nil {
		return fmt.Errorf("pointing latest to the run: %w", err)
	}
	return nil
}

// writeFileSynced writes a whole file aside and renames it into place.
func writeFileSynced(path string, b []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".writing-*")
	if err != nil {
		return err
	}
	if _, err = f.Write(b); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), path)
}
