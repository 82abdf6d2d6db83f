package lang

import "bytes"

// loadAlias stands for the keyword `load` of measure(...) while Starlark sees the file: there, load is a reserved word,
// and `load = closed(4)` would be a syntax error. It is as long as the word, so every position stays right.
const loadAlias = "l__d"

// aliasLoad replaces the name in `load =` within parentheses; strings and comments stay.
func aliasLoad(src []byte) []byte {
	if !bytes.Contains(src, []byte("load")) {
		return src
	}
	out := bytes.Clone(src)
	depth := 0
	for i := 0; i < len(src); {
		switch c := src[i]; {
		case c == '#':
			for i < len(src) && src[i] != '\n' {
				i++
			}
		case c == '"' || c == '\'':
			i = endOfString(src, i)
		case c == '(' || c == '[' || c == '{':
			depth++
			i++
		case c == ')' || c == ']' || c == '}':
			depth--
			i++
		case nameByte(c):
			j := i
			for j < len(src) && nameByte(src[j]) {
				j++
			}
			if depth > 0 && string(src[i:j]) == "load" && assigned(src, j) && (i == 0 || src[i-1] != '.') {
				copy(out[i:], loadAlias)
			}
			i = j
		default:
			i++
		}
	}
	return out
}

func nameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// assigned says whether a single = follows.
func assigned(src []byte, i int) bool {
	for i < len(src) && (src[i] == ' ' || src[i] == '\t') {
		i++
	}
	return i < len(src) && src[i] == '=' && (i+1 == len(src) || src[i+1] != '=')
}

// endOfString is the index after the string literal that begins at i, or where it breaks off.
func endOfString(src []byte, i int) int {
	quote := src[i : i+1]
	if bytes.HasPrefix(src[i:], bytes.Repeat(quote, 3)) {
		quote = src[i : i+3]
	}
	for i += len(quote); i < len(src); {
		switch {
		case src[i] == '\\': // in a raw string too: it keeps a quote from ending it
			i += 2
		case bytes.HasPrefix(src[i:], quote):
			return i + len(quote)
		case src[i] == '\n' && len(quote) == 1:
			return i
		default:
			i++
		}
	}
	return len(src)
}
