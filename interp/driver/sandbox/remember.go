package sandbox

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// note of a place is a file beside the sandboxes; it has no owner file, so Clean leaves it alone.
func noteOf(place string) string {
	sum := sha256.Sum256([]byte(place))
	return filepath.Join(Base(), fmt.Sprintf("changed-%x.json", sum[:12]))
}

// Remember writes down the settings of a server that is about to be changed, as they were before. They must hold no secret.
func Remember(place string, before map[string]string) error {
	b, err := json.Marshal(before)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(Base(), 0o711); err != nil {
		return fmt.Errorf("noting a server's settings: %w", err)
	}
	name := noteOf(place)
	if err := os.WriteFile(name+".new", b, 0o600); err != nil {
		return fmt.Errorf("noting a server's settings: %w", err)
	}
	return os.Rename(name+".new", name)
}

// Recall gives what Remember wrote and nobody has forgotten since; nil when there is nothing.
func Recall(place string) (map[string]string, error) {
	b, err := os.ReadFile(noteOf(place))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading a server's settings as they were: %w", err)
	}
	var out map[string]string
	if err := json.Unmarshal(b, &out); err != nil {
		return nil, fmt.Errorf("reading a server's settings as they were: %s: %w", noteOf(place), err)
	}
	return out, nil
}

// Forget ends what Remember began: the settings are as they were.
func Forget(place string) error {
	if err := os.Remove(noteOf(place)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
