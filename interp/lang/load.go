package lang

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"sextant/interp/spec"
)

// module is one evaluated file.
type module struct {
	globals starlark.StringDict
	failed  bool // its problems are reported already
}

// errReported ends the evaluation of a module whose problem is in the list already.
var errReported = errors.New("reported")

// exec evaluates one file; its problems go to the list.
func (ev *evaluator) exec(name string, src []byte) *module {
	m := &module{}
	ev.modules[name] = m
	ev.order = append(ev.order, name)
	t := newTree(ev.shown(name), src)
	ev.trees[name] = t
	ev.trees[t.name] = t
	if err := t.parse(); err != nil {
		ev.reportSyntax(err)
		m.failed = true
		return m
	}
	isPredeclared := func(n string) bool { _, ok := ev.predeclared[n]; return ok }
	prog, err := starlark.FileProgram(t.file, isPredeclared)
	if err != nil {
		ev.reportSyntax(err)
		m.failed = true
		return m
	}
	th := ev.thread(name)
	globals, err := prog.Init(th, ev.predeclared)
	globals.Freeze()
	m.globals = globals
	if err != nil {
		ev.reportEval(err)
		m.failed = true
	}
	return m
}

// load is Starlark's load(). When it fails the problem is reported and the names are bound to invalid values, so that the
// rest of the file is checked too.
func (ev *evaluator) load(t *starlark.Thread, asked string) (starlark.StringDict, error) {
	globals, err := ev.loadModule(t, asked)
	if err == nil {
		return globals, nil
	}
	from := ev.trees[t.Name]
	names := starlark.StringDict{}
	for _, s := range from.file.Stmts {
		l, ok := s.(*syntax.LoadStmt)
		if !ok || l.ModuleName() != asked {
			continue
		}
		for _, n := range l.From {
			names[n.Name] = invalid{}
		}
		if err != errReported {
			sp := spanOf(l.Module)
			ev.reportSpan(site{stack: []Frame{{"<toplevel>", sp.pos}}}, sp, err.Error(), "")
		}
	}
	return names, nil
}

// loadModule evaluates a module: a path relative to the loading file, never out of the main file's folder.
func (ev *evaluator) loadModule(t *starlark.Thread, asked string) (starlark.StringDict, error) {
	from := t.Name // the module that loads
	name, err := resolveLoad(from, asked)
	if err != nil {
		return nil, err
	}
	if slices.Contains(append(ev.loading, from), name) {
		return nil, fmt.Errorf("load cycle: %s", strings.Join(append(append(slices.Clone(ev.loading), from), name), " -> "))
	}
	m := ev.modules[name]
	if m == nil {
		src, err := ev.root.ReadFile(filepath.FromSlash(name))
		if err != nil {
			return nil, ev.loadError(name, err)
		}
		ev.loading = append(ev.loading, from)
		m = ev.exec(name, src)
		ev.loading = ev.loading[:len(ev.loading)-1]
	}
	if m.failed {
		return nil, errReported
	}
	return m.globals, nil
}

func resolveLoad(from, asked string) (string, error) {
	if asked == "" || path.IsAbs(asked) || strings.Contains(asked, `\`) {
		return "", fmt.Errorf("load(%q): the path must be relative, with / between folders", asked)
	}
	name := path.Join(path.Dir(from), asked)
	if name == ".." || strings.HasPrefix(name, "../") {
		return "", fmt.Errorf("load(%q): the path leaves the folder of the script", asked)
	}
	return name, nil
}

func (ev *evaluator) loadError(name string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		// os.Root says "path escapes from parent" for a symbolic link that leads out
		if strings.Contains(err.Error(), "escapes") {
			return fmt.Errorf("load(%q): the path leaves the folder of the script through a symbolic link", name)
		}
		return fmt.Errorf("load(%q): %w", name, err)
	}
	msg := fmt.Sprintf("load(%q): there is no such file", name)
	if entries, rerr := fs.ReadDir(ev.root.FS(), path.Dir(name)); rerr == nil {
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if n := spec.Nearest(path.Base(name), names); n != "" {
			msg += fmt.Sprintf("; did you mean %q?", n)
		}
	}
	return errors.New(msg)
}

// filesOf reads the files that a parameter names: the keys of a dict, or one text.
func (ev *evaluator) filesOf(at site, param string, v spec.Value) (spec.Value, error) {
	switch v := v.(type) {
	case map[string]any:
		return ev.files(at, param, v)
	case string:
		m, err := ev.files(at, param, map[string]any{v: v})
		if err != nil {
			return nil, err
		}
		return m[v], nil
	}
	return v, nil
}

// files reads the files that the keys of m name, from beside the script that calls. They become sources of the program, so
// that a resumed run reads the same ones.
func (ev *evaluator) files(at site, param string, m map[string]any) (map[string]any, error) {
	from := ""
	for _, n := range ev.order {
		if ev.trees[n] == at.tree {
			from = n
		}
	}
	out := make(map[string]any, len(m))
	for _, asked := range slices.Sorted(maps.Keys(m)) {
		name, err := resolveLoad(from, asked)
		if err == nil {
			if _, read := ev.texts[name]; !read {
				var b []byte
				if b, err = ev.root.ReadFile(filepath.FromSlash(name)); err != nil {
					err = ev.loadError(name, err)
				} else {
					ev.texts[name] = b
				}
			}
		}
		if err != nil {
			_, text, _ := strings.Cut(err.Error(), "): ") // without load(...)
			return nil, &spec.ParamError{Param: param, Msg: fmt.Sprintf("names the file %q: %s", asked, text)}
		}
		out[asked] = map[string]any{"text": string(ev.texts[name]), "value": m[asked]}
	}
	return out, nil
}
