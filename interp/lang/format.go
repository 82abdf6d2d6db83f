package lang

import (
	"bytes"
	"fmt"

	"github.com/bazelbuild/buildtools/build"
)

// Format gives a script in the one layout that Starlark files have. Loads keep their order, comments their place.
// Source: the formatter of bazelbuild/buildtools, without its rewriting rules.
func Format(name string, src []byte) ([]byte, error) {
	f, err := build.ParseDefault(name, aliasLoad(src))
	if err != nil {
		return nil, fmt.Errorf("formatting %s: %w", name, err)
	}
	return bytes.ReplaceAll(build.FormatWithoutRewriting(f), []byte(loadAlias), []byte("load")), nil
}
