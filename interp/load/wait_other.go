//go:build !linux

package load

import "context"

func (c clock) waitPrecisely(ctx context.Context, at int64) error { return c.wait(ctx, at) }
