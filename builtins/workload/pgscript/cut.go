package pgscript

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sextant/interp/driver"
)

// Named cuts one SQL statement at its :names. The names come in the order of the parameters; one may stand several times.
// Of the known ones none may stand within quotes.
func Named(sql string, known []string) (st driver.Statement, names []string, err error) {
	if sql, err = single(sql); err != nil {
		return st, nil, err
	}
	for rest := sql; ; {
		before, name, after, quoted := variable(rest)
		for _, q := range quoted {
			if slices.Contains(known, q) {
				return st, nil, fmt.Errorf(":%s stands within quotes, where a prepared statement can't replace it", q)
			}
		}
		st.Parts = append(st.Parts, before)
		if name == "" {
			return st, names, nil
		}
		names, rest = append(names, name), after
	}
}

// Positional cuts one SQL statement at its question marks, those outside of quotes and comments.
func Positional(sql string) (st driver.Statement, err error) {
	if sql, err = single(sql); err != nil {
		return st, err
	}
	from := 0
	for i := 0; i < len(sql); {
		n, _ := lexeme(sql[i:]) // single has looked
		if sql[i] == '?' {
			st.Parts = append(st.Parts, sql[from:i])
			from = i + 1
		}
		i += n
	}
	st.Parts = append(st.Parts, sql[from:])
	return st, nil
}

// single takes comments to the end of a line, the blanks around, and the semicolon at the end away, and refuses what is not
// exactly one statement.
func single(sql string) (string, error) {
	var b strings.Builder
	ended := false
	for i := 0; i < len(sql); {
		if strings.HasPrefix(sql[i:], "--") {
			n := strings.IndexByte(sql[i:], '\n')
			if n < 0 {
				break
			}
			i += n
			continue
		}
		n, problem := lexeme(sql[i:])
		if problem != "" {
			return "", errors.New(problem)
		}
		switch part := sql[i : i+n]; {
		case part == ";":
			ended = ended || strings.TrimSpace(b.String()) != ""
		case ended && strings.TrimSpace(part) != "":
			return "", errors.New("holds several statements; transaction([...]) takes a list of them")
		case !ended:
			b.WriteString(part)
		}
		i += n
	}
	if sql = strings.TrimSpace(b.String()); sql == "" {
		return "", errors.New("is an empty statement")
	}
	return sql, nil
}
