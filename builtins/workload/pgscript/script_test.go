package pgscript

import (
	"slices"
	"strings"
	"testing"
)

// texts are the statements of a script with ? for each variable.
func texts(s *Script) []string {
	var out []string
	for _, st := range s.Statements {
		out = append(out, st.Text(func(int) string { return "?" }))
	}
	return out
}

func TestWhereStatementsEnd(t *testing.T) {
	for _, x := range []struct {
		text string
		want []string
	}{
		{"SELECT 1;\nSELECT 2", []string{"SELECT 1", "SELECT 2"}},
		{"SELECT 1; SELECT 2;;\n;", []string{"SELECT 1", "SELECT 2"}},
		{"SELECT ';' ;\nSELECT \"a;b\";", []string{"SELECT ';'", `SELECT "a;b"`}},
		{"SELECT 'it''s; one', E'\\'; two';SELECT 3;", []string{`SELECT 'it''s; one', E'\'; two'`, "SELECT 3"}},
		{"SELECT $$a;b$$, $x$;$$;$x$; SELECT $1;", []string{"SELECT $$a;b$$, $x$;$$;$x$", "SELECT $1"}},
		{"SELECT /* a; /* b; */ ; */ 1; -- c; d\nSELECT 2;", []string{"SELECT /* a; /* b; */ ; */ 1", "SELECT 2"}},
		{"CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2);", []string{"CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2)"}},
		{"-- only words\n\n  SELECT\n 1\n;", []string{"SELECT\n 1"}},
		{"\\set a 1\nSELECT :a, ':a', 1::int, a[1:2], '12:30', :scale", nil}, // refused: within quotes
		{"\\set a 1\nSELECT :a+:a, 1::int, '12:30', x[1:2]::text -- :a\n;", []string{"SELECT ?+?, 1::int, '12:30', x[1:2]::text"}},
		{"\\set a \\\n 1 + \\\n 1\nSELECT :a;", []string{"SELECT ?"}},
		{"SELECT 1 AS one \\gset p_\nSELECT :p_one;", []string{"SELECT 1 AS one", "SELECT ?"}},
	} {
		s, err := Parse("x.sql", x.text)
		if x.want == nil {
			if err == nil {
				t.Errorf("%q is taken", x.text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", x.text, err)
		} else if got := texts(s); !slices.Equal(got, x.want) {
			t.Errorf("%q gives %q", x.text, got)
		}
	}
}

// Every problem names the line on which its command begins, and where there is a near name, that.
func TestScriptProblems(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT 1;\n\n\\set x random(1, 2\nSELECT 2;":  `line 3: \set x: ")" is missing at the end`,
		"SELECT 1\n\\set x 1\nSELECT 2;":               "line 2: a meta-command within an SQL command; is a ; missing before it?",
		"SELECT\n 1;\n SELECT\n :x;":                   "line 3: variable x is never set before",
		"\\set aid 1\nSELECT :aidd;":                   "line 2: variable aidd is never set before; did you mean :aid?",
		"/* a\n b */ SELECT 1;\n\\stet x 1":            `line 3: unknown meta-command \stet; did you mean \set?`,
		"\\setshell x echo 1\nSELECT 1;":               `line 1: \setshell is refused: an experiment must not depend on a shell`,
		"\\shell echo\nSELECT 1;":                      `line 1: \shell is refused`,
		"SELECT 1 \\; SELECT 2;":                       `line 1: \; is not supported`,
		"SELECT 1;\n\\aset":                            `line 2: \aset is not supported`,
		"\\if 1\nSELECT 1;":                            `line 1: \if without \endif`,
		"SELECT 1;\n\\else":                            `line 2: \else without \if`,
		"\\if 1\n\\else\n\\elif 1\n\\endif\nSELECT 1;": `line 3: \elif after \else`,
		"\\if\nSELECT 1;\\endif":                       `line 1: \if: the expression is not complete`,
		"\\startpipeline\nSELECT 1;":                   `line 2: \startpipeline without \endpipeline`,
		"SELECT 1;\n\\endpipeline":                     `line 2: \endpipeline without \startpipeline`,
		"\\startpipeline\n\\startpipeline\nSELECT 1;":  `line 2: \startpipeline within a pipeline`,
		"\\startpipeline\nSELECT 1 \\gset\n":           `line 2: \gset can't be used within a pipeline`,
		"\\gset\nSELECT 1;":                            `line 1: \gset must follow an SQL command`,
		"\\sleep 1 h\nSELECT 1;":                       `line 1: \sleep takes a number and us, ms or s, not "1 h"`,
		"\\sleep x ms\nSELECT 1;":                      `line 1: \sleep takes a number or a variable, not "x"`,
		"\\set 1x 1\nSELECT 1;":                        `line 1: \set needs a variable's name, not "1x"`,
		"\\set x\nSELECT 1;":                           `line 1: \set x needs an expression`,
		"\\set x 1\n":                                  "line 1: the script has no SQL command",
		"SELECT 1;\nSELECT 'a;\n":                      "line 2: a quote is not closed",
		"SELECT 1;\n\nSELECT $q$ a;":                   "line 3: a dollar quote is not closed",
		"SELECT 1; /* b":                               "line 1: a comment is not closed",
		"\\set a 1\nSELECT ':a';":                      "line 2: :a stands within quotes",
		"":                                             "line 1: the script has no SQL command",
	} {
		if _, err := Parse("x.sql", text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, not %q", text, err, want)
		}
	}
}

// No text makes the parser panic or loop.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"\\set a random(1, 10)\nSELECT :a;", "SELECT 'a' \\gset\n\\if :a\nX;\n\\endif", "$$", "\\", "/*", "E'\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("x.sql", text)
		if (s == nil) == (err == nil) {
			t.Errorf("%v, %v", s, err)
		}
	})
}
