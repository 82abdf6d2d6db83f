//go:build !linux

package result

import (
	"errors"
	"os"
)

// exchange swaps two folders. Between its renames b is missing: a reader then gets an error, never wrong rows.
func exchange(a, b string) error {
	old := b + ".old"
	return errors.Join(os.Rename(b, old), os.Rename(a, b), os.Rename(old, a))
}
