package spec

import "fmt"

// Pos is a place in a script; Line and Col count from 1, Col in Unicode code points.
type Pos struct {
	File      string `json:"file,omitempty"`
	Line, Col int    `json:",omitempty"`
}

// String is file:line:col.
func (p Pos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col) }

// Kind is the type that a parameter takes in a script.
type Kind int

// The kinds of a parameter and what a script may write for each.
const (
	KindAny      Kind = iota // any Value
	KindBool                 // True, False
	KindInt                  // 10000
	KindFloat                // 0.5 or 1
	KindString               // "text"
	KindDuration             // "10s", "1.5ms": text with a unit
	KindList                 // [1, 2]
	KindMap                  // {"a": 1} or struct(a=1), string keys
	KindSecret               // secret("NAME"), or text where the parameter's Check allows it
	KindFunction             // a function that def makes; the value is its name
	KindValue                // a value made by a ValueType constructor such as zipfian(0.99), or its name as text
)

var kindNames = [...]string{"any value", "True or False", "an integer", "a number", "text",
	`a duration such as "10s"`, "a list", "a dict", `secret("NAME")`, "a function made by def", "a named value"}

// String is the kind as an error message words it.
func (k Kind) String() string { return kindNames[k] }

// A Param is one keyword of a constructor.
type Param struct {
	Name     string
	Doc      string // one sentence; units included
	Kind     Kind
	Required bool
	Default  Value    // what an absent keyword means; nil is None
	OneOf    []string // for text: the closed set of values
	Value    []string // for KindValue: the names of the ValueTypes that are taken
	// Files: the keys of a KindMap name files in the tree of the script. The value becomes a map from each name to
	// {"text": its content, "value": what the script gave it}. A KindString names one; the value is {"text", "value": name}.
	Files bool
	// Check refuses a value that has the right kind but can't be right. Its text continues "NAME: ". Nil: no check.
	Check func(v Value) error
}

// A ParamError says which argument of a constructor is wrong; the language points at that argument.
type ParamError struct {
	Param      string
	Msg        string
	Suggestion string // what to write instead; may be empty
}

func (e *ParamError) Error() string { return e.Param + ": " + e.Msg }

// A Maker is one way to name a system: sqlite.local(), postgres.server(url=...).
type Maker struct {
	Name   string
	Doc    string
	Params []Param // in the order of documentation; the first Positional may be given without a name
	// Positional is the number of leading Params that may be given by position.
	Positional int
	// Check sees all resolved options together. Nil: no check. A *ParamError is shown at that argument.
	Check func(options map[string]any) error
}

// A SystemType describes a kind of database as a script sees it. It is data: drivers add the behaviour.
type SystemType struct {
	Name   string // "postgres": the script's module name
	Doc    string
	Makers []Maker
	Levels []LevelSetting
	// CheckLevel refuses a level that the named system can never give (for reasons visible without a connection). May
	// be nil.
	CheckLevel func(s *System, l Level) error
	// Ops lists the driver actions ("read", "scan", ...) that the system can do; nil means all.
	Ops []string
	// CheckAction refuses one of Ops that the named system can't do. May be nil.
	CheckAction func(s *System, action string) error
	// CheckSize refuses records that no server of the kind takes. May be nil.
	CheckSize func(s *System, z Size) error
}

// A WorkloadType describes a workload constructor: workload.NAME(...).
type WorkloadType struct {
	Name       string
	Doc        string
	Params     []Param
	Positional int
	// Resolve turns complete, kind-checked parameters (defaults filled in) into a workload. It is pure. A *ParamError
	// is shown at that argument.
	Resolve func(params map[string]any) (*Workload, error)
}

// A ValueType is a constructor of a tagged value: zipfian(theta=0.9) is the Value
// map[string]any{"$": "zipfian", "theta": 0.9}. Where a parameter of KindValue lists the type, its bare name as text
// means the constructor called without arguments.
type ValueType struct {
	Name       string
	Doc        string
	Params     []Param
	Positional int
	Check      func(params map[string]any) error
}

// AtLeast is the Check of a whole number from low on.
func AtLeast(low int64) func(v Value) error { return Between(low, 1<<62) }

// Between is the Check of a whole number from low to high.
func Between(low, high int64) func(v Value) error {
	return func(v Value) error {
		n, ok := v.(int64)
		switch {
		case !ok || n < low:
			return fmt.Errorf("must be at least %d, not %s", low, Display(v))
		case n > high:
			return fmt.Errorf("must be at most %d, not %d", high, n)
		}
		return nil
	}
}
