package pgscript

import (
	"fmt"
	"strings"
)

// token is a word of an expression.
type token struct {
	kind byte // 'n' number, 'w' word, 'v' variable, 'o' operator, 0 end
	text string
}

// tokens cuts an expression into its words.
func tokens(s string) ([]token, error) {
	var out []token
	word := func(c byte) bool {
		return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
	}
	for i := 0; i < len(s); {
		c := s[i]
		start := i
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			i++
			continue
		case c >= '0' && c <= '9' || c == '.' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9':
			for i < len(s) && (word(s[i]) || s[i] == '.' || (s[i] == '-' || s[i] == '+') && (s[i-1] == 'e' || s[i-1] == 'E')) {
				i++
			}
			out = append(out, token{'n', s[start:i]})
		case c == ':' && i+1 < len(s) && word(s[i+1]):
			for i++; i < len(s) && word(s[i]); i++ {
			}
			out = append(out, token{'v', s[start+1 : i]})
		case word(c):
			for i < len(s) && word(s[i]) {
				i++
			}
			out = append(out, token{'w', s[start:i]})
		default:
			n := 1
			for _, op := range []string{"<>", "!=", "<=", ">=", "<<", ">>"} {
				if strings.HasPrefix(s[i:], op) {
					n = 2
				}
			}
			if n == 1 && !strings.ContainsRune("+-*/%=<>|#&~(),", rune(c)) {
				return nil, fmt.Errorf("unexpected %q", string(rune(c)))
			}
			i += n
			out = append(out, token{'o', s[start:i]})
		}
	}
	return append(out, token{}), nil
}
