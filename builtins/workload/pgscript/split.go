package pgscript

import (
	"strings"
)

// piece is a part of a script: an SQL command or a meta-command, and the line on which it begins, from 1.
type piece struct {
	line int
	meta bool
	text string
}

// split cuts a script into its commands. A meta-command begins with a backslash at the start of a line (\gset and \aset
// also behind an SQL command, which they end) and goes to the end of its line; a backslash there continues it. An SQL
// command goes to its semicolon.
func split(text string) ([]piece, error) {
	var out []piece
	line, begin := 1, 0
	var sql strings.Builder
	flush := func() {
		if strings.TrimSpace(sql.String()) != "" {
			out = append(out, piece{begin, false, strings.TrimSpace(sql.String())})
		}
		sql.Reset()
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c == '\n' {
			line++
		}
		blank := strings.TrimSpace(sql.String()) == ""
		switch {
		case c == '\\':
			word := text[i+1:]
			end := strings.IndexAny(word, " \t\r\n")
			if end >= 0 {
				word = word[:end]
			}
			ends := word == "gset" || word == "aset"
			if !blank && !ends {
				if strings.HasPrefix(text[i+1:], ";") {
					return nil, &Problem{line, `\; is not supported: end the command with ; alone`}
				}
				return nil, &Problem{line, `a meta-command within an SQL command; is a ; missing before it?`}
			}
			if !blank {
				flush()
			}
			meta, next, lines := metaLine(text[i+1:])
			out = append(out, piece{line, true, meta})
			line += lines
			i += 1 + next
			continue
		case c == ';' && depth(sql.String()) == 0:
			flush()
			i++
			continue
		case strings.HasPrefix(text[i:], "--"):
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				end = len(text) - i
			}
			i += end
			continue
		}
		n, err := lexeme(text[i:])
		if err != "" {
			return nil, &Problem{line, err}
		}
		if blank && c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			begin = line
		}
		if c != '\n' {
			line += strings.Count(text[i:i+n], "\n")
		}
		sql.WriteString(text[i : i+n])
		i += n
	}
	flush()
	return out, nil
}

// metaLine is a meta-command up to the end of its line, how many bytes it takes, and how many lines before its last one.
func metaLine(s string) (text string, n, lines int) {
	var b strings.Builder
	for n < len(s) && s[n] != '\n' {
		if s[n] == '\\' {
			rest := strings.TrimLeft(s[n+1:], " \t\r")
			if strings.HasPrefix(rest, "\n") {
				n = len(s) - len(rest) + 1
				lines++
				b.WriteByte(' ')
				continue
			}
		}
		b.WriteByte(s[n])
		n++
	}
	return strings.TrimSpace(b.String()), n, lines
}

// lexeme is how many bytes belong together at the start of an SQL text: a quoted text, a comment, or one byte.
func lexeme(s string) (n int, problem string) {
	quoted := func(from int, q byte, escapes bool) (int, string) {
		for i := from; i < len(s); i++ {
			switch {
			case s[i] == q:
				return i + 1, ""
			case escapes && s[i] == '\\':
				i++
			}
		}
		return 0, "a quote is not closed"
	}
	switch c := s[0]; {
	case (c == 'e' || c == 'E') && len(s) > 1 && s[1] == '\'':
		return quoted(2, '\'', true)
	case c == '\'' || c == '"':
		return quoted(1, c, false)
	case c == '$':
		end := strings.IndexByte(s[1:], '$')
		if end < 0 || strings.ContainsAny(s[1:1+end], " \t\n;,()") || end > 0 && s[1] >= '0' && s[1] <= '9' {
			return 1, ""
		}
		tag := s[:end+2]
		if close := strings.Index(s[len(tag):], tag); close >= 0 {
			return close + 2*len(tag), ""
		}
		return 0, "a dollar quote is not closed"
	case strings.HasPrefix(s, "/*"):
		open := 0
		for i := 0; i < len(s)-1; i++ {
			switch s[i : i+2] {
			case "/*":
				open++
				i++
			case "*/":
				open--
				i++
				if open == 0 {
					return i + 1, ""
				}
			}
		}
		return 0, "a comment is not closed"
	}
	return 1, ""
}

// depth is how many parentheses are open at the end of an SQL text.
func depth(sql string) int {
	d := 0
	for i := 0; i < len(sql); {
		n, problem := lexeme(sql[i:])
		if problem != "" {
			return d
		}
		if n == 1 {
			switch sql[i] {
			case '(':
				d++
			case ')':
				d--
			}
		}
		i += n
	}
	return max(d, 0)
}

// variable cuts the next :variable out of an SQL text. The text before it may hold quotes and casts (::). quoted names a
// variable within quotes, which can't be replaced.
func variable(sql string) (before, name, after string, quoted []string) {
	for i := 0; i < len(sql); {
		if strings.HasPrefix(sql[i:], "::") {
			i += 2
			continue
		}
		if sql[i] == ':' {
			if n := nameLength(sql[i+1:]); n > 0 {
				return sql[:i], sql[i+1 : i+1+n], sql[i+1+n:], quoted
			}
		}
		n, _ := lexeme(sql[i:])
		n = max(n, 1)
		if n > 1 {
			for j := i; j < i+n; j++ {
				if k := nameLength(sql[min(j+1, len(sql)):]); sql[j] == ':' && k > 0 {
					quoted = append(quoted, sql[j+1:j+1+k])
				}
			}
		}
		i += n
	}
	return sql, "", "", quoted
}

// nameLength is how long the variable's name at the start of s is; names don't begin with a digit (12:30 is a time).
func nameLength(s string) int {
	n := 0
	for n < len(s) {
		c := s[n]
		if c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 || n > 0 && c >= '0' && c <= '9' {
			n++
			continue
		}
		break
	}
	return n
}
