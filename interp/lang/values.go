package lang

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"sextant/interp/spec"
)

// opaque is what the values of constructors have in common: they can be stored and passed on, nothing else.
type opaque struct{}

func (opaque) Freeze()              {}
func (opaque) Truth() starlark.Bool { return true }

func unhashable(typ string) (uint32, error) { return 0, fmt.Errorf("unhashable: %s", typ) }

// systemValue is what postgres.server(...) gives.
type systemValue struct {
	opaque
	s   *spec.System
	typ *spec.SystemType
}

func (v *systemValue) String() string        { return fmt.Sprintf("<system %s>", v.s.Name) }
func (v *systemValue) Type() string          { return "system" }
func (v *systemValue) Hash() (uint32, error) { return starlark.String(v.s.Name).Hash() }

// workloadValue is what workload.NAME(...) gives.
type workloadValue struct {
	opaque
	w *spec.Workload
}

func (v *workloadValue) String() string        { return fmt.Sprintf("<workload %s>", v.w.Type) }
func (v *workloadValue) Type() string          { return "workload" }
func (v *workloadValue) Hash() (uint32, error) { return unhashable(v.Type()) }

// loadValue is what closed(...) gives.
type loadValue struct {
	opaque
	l spec.Load
}

func (v *loadValue) String() string        { return fmt.Sprintf("<load %s %d>", v.l.Shape, v.l.Clients) }
func (v *loadValue) Type() string          { return "load" }
func (v *loadValue) Hash() (uint32, error) { return unhashable(v.Type()) }

// rateValue is what ramp(...), steps(...) and bursts(...) give.
type rateValue struct {
	opaque
	segments []spec.RateSegment
	repeat   bool
}

func (v *rateValue) String() string        { return fmt.Sprintf("<rate of %d segments>", len(v.segments)) }
func (v *rateValue) Type() string          { return "rate" }
func (v *rateValue) Hash() (uint32, error) { return unhashable(v.Type()) }

// windowValue is what operations(...) and until(...) give: a window that doesn't end by time.
type windowValue struct {
	opaque
	kind, text string
	w          window
}

func (v *windowValue) String() string        { return v.text }
func (v *windowValue) Type() string          { return v.kind }
func (v *windowValue) Hash() (uint32, error) { return unhashable(v.kind) }

// stopValue is what saturation(...) gives: when a ramp ends.
type stopValue struct {
	opaque
	s spec.Saturation
}

func (v *stopValue) String() string        { return fmt.Sprintf("<saturation %s>", v.s.Axis) }
func (v *stopValue) Type() string          { return "saturation" }
func (v *stopValue) Hash() (uint32, error) { return unhashable(v.Type()) }

// retryValue is what backoff(...) gives.
type retryValue struct {
	opaque
	r spec.Retry
}

func (v *retryValue) String() string        { return fmt.Sprintf("<retry %d>", v.r.Max) }
func (v *retryValue) Type() string          { return "retry" }
func (v *retryValue) Hash() (uint32, error) { return unhashable(v.Type()) }

// measureValue is what measure(...) gives: its arguments, and where they stand.
type measureValue struct {
	opaque
	args map[string]arg
	at   site
}

func (v *measureValue) String() string        { return "<measure>" }
func (v *measureValue) Type() string          { return "measure" }
func (v *measureValue) Hash() (uint32, error) { return unhashable(v.Type()) }

// tagged is what a value constructor such as zipfian(0.99) gives.
type tagged struct {
	opaque
	kind *spec.ValueType
	m    map[string]any
}

func (v *tagged) String() string        { return spec.CanonicalString(v.m) }
func (v *tagged) Type() string          { return v.kind.Name }
func (v *tagged) Hash() (uint32, error) { return starlark.String(v.String()).Hash() }

// secretValue is what secret(NAME) gives.
type secretValue spec.Secret

func (v secretValue) String() string        { return spec.Secret(v).String() }
func (v secretValue) Type() string          { return "secret" }
func (v secretValue) Freeze()               {}
func (v secretValue) Truth() starlark.Bool  { return true }
func (v secretValue) Hash() (uint32, error) { return starlark.String(v.Name).Hash() }

// namespace is a module of constructors: sqlite, workload.
type namespace struct {
	opaque
	name    string
	members map[string]starlark.Value
}

func (v *namespace) String() string        { return "<module " + v.name + ">" }
func (v *namespace) Type() string          { return "module" }
func (v *namespace) Hash() (uint32, error) { return unhashable(v.Type()) }

func (v *namespace) AttrNames() []string {
	out := make([]string, 0, len(v.members))
	for n := range v.members {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

func (v *namespace) Attr(name string) (starlark.Value, error) {
	if m, ok := v.members[name]; ok {
		return m, nil
	}
	return nil, nil // Starlark words the error, with a suggestion
}

const invalidType = "invalid value"

// invalid is what a constructor gives whose arguments are wrong. The problem is reported; whatever is done with the
// value is no further one.
type invalid struct{}

func (invalid) String() string                                   { return "<" + invalidType + ">" }
func (invalid) Type() string                                     { return invalidType }
func (invalid) Freeze()                                          {}
func (invalid) Truth() starlark.Bool                             { return true }
func (invalid) Hash() (uint32, error)                            { return 0, nil }
func (invalid) Name() string                                     { return invalidType }
func (invalid) AttrNames() []string                              { return nil }
func (invalid) Attr(string) (starlark.Value, error)              { return invalid{}, nil }
func (invalid) Get(starlark.Value) (starlark.Value, bool, error) { return invalid{}, true, nil }
func (invalid) Iterate() starlark.Iterator                       { return starlark.Tuple{}.Iterate() }
func (invalid) Binary(syntax.Token, starlark.Value, starlark.Side) (starlark.Value, error) {
	return invalid{}, nil
}
func (invalid) CallInternal(*starlark.Thread, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return invalid{}, nil
}
