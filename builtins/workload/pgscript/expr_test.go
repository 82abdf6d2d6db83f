package pgscript

import (
	"math"
	"strings"
	"testing"

	"sextant/interp/driver"
)

// eval evaluates an expression with n = 7, f = 2.5, t = 'abc' and d without a value.
func eval(t *testing.T, text string) (string, error) {
	t.Helper()
	names := map[string]int{"n": 0, "f": 1, "t": 2, "d": 3}
	e, err := parseExpr(text, func(name string) (int, error) { return names[name], nil })
	if err != nil {
		return "", err
	}
	v, err := e(&env{
		vars: []value{integer(7), double(2.5), {Kind: driver.TextArg, Text: []byte("abc")}, {}},
		set:  []bool{true, true, true, false}, rng: seeded(1), seed: 5678,
	})
	if err != nil {
		return "", err
	}
	return show(v), nil
}

// Most of these are compared with pgbench itself in builtins/postgres.
func TestExpressions(t *testing.T) {
	for text, want := range map[string]string{
		"1 + 2 * 3": "7", "(1 + 2) * 3": "9", "5 / 2": "2", "-5 / 2": "-2", "5 % 3": "2", "-5 % 3": "-2", "5 - 4 - 3": "-2",
		"5 + 1.5": "6.5", "5.0 / 2": "2.5", "- :n": "-7", "+ :n": "7", "~ 3": "-4", "5 # 1": "4", "1 | 2": "3", "1 & 3": "1",
		"1 << 3": "8", "256 >> 4": "16", "1 + 1 << 2": "8", "1 | 2 # 3": "0", "6 & 3 | 8": "10",
		":n + :f": "9.5", "1.5e2": "150", ".5 + 1": "1.5", "-9223372036854775808": "-9223372036854775808",
		"1 = 1": "true", "1 <> 2": "true", "1 != 1": "false", "2 < 10": "true", "2 >= 2.5": "false", "3 > 2 AND 2 > 3": "false",
		"TRUE OR FALSE": "true", "NOT TRUE": "false", "not false and false": "false", "true or true and false": "true",
		"NULL + 1": "NULL", "NULL = NULL": "NULL", "NULL IS NULL": "true", "1 IS NOT NULL": "true", "NULL ISNULL": "true",
		"1 NOTNULL": "true", "NULL OR TRUE": "NULL", "NULL OR FALSE": "NULL", "NULL AND FALSE": "NULL", "TRUE AND NULL": "NULL", "FALSE AND NULL": "false", "TRUE OR NULL": "true", "NULL AND TRUE": "NULL",
		"NOT NULL": "NULL", "(1 = 1) IS TRUE": "true", "(1 = 2) IS NOT TRUE": "true", "NULL IS FALSE": "false",
		"FALSE AND 1 / 0 = 1": "false", "TRUE OR 1 / 0 = 1": "true",
		"CASE WHEN 1 > 2 THEN 10 WHEN :n = 7 THEN 20 ELSE 30 END": "20", "CASE WHEN NULL THEN 1 END": "NULL",
		"abs(-17)": "17", "abs(-2.5)": "2.5", "double(5432)": "5432", "int(5.4 + 3.8)": "9", "int(-5.9)": "-6",
		"exp(0.0)": "1", "ln(exp(2.0))": "2", "sqrt(4.0)": "2", "pi()": "3.141592653589793", "pow(2.0, 10)": "1024", "power(2.0, 3)": "8",
		"mod(54, 32)": "22", "greatest(5, 4, 3, 2)": "5", "least(5, 4, 3, 2.1)": "2.1", "greatest(NULL, 1)": "NULL",
		// as pgbench itself gives them
		"hash(10, 5678)": "-8316991698639847460", "hash_murmur2(10, 5678)": "-8316991698639847460", "hash(10)": "-8316991698639847460",
		"hash_fnv1a(10, 5678)": "-1188213966230642911",
		"random(3, 3)":         "3", "random_gaussian(1, 1, 2.5)": "1", "random_exponential(9, 9, 3)": "9", "random_zipfian(4, 4, 1.5)": "4",
	} {
		if got, err := eval(t, text); got != want || err != nil {
			t.Errorf("%s = %s (%v), want %s", text, got, err, want)
		}
	}
}

func TestExpressionErrors(t *testing.T) {
	for text, want := range map[string]string{
		"9223372036854775807 + 1": "out of range", "-9223372036854775807 - 2": "out of range", "4294967296 * 2147483648": "out of range",
		"-9223372036854775808 / -1": "out of range", "- (-9223372036854775808)": "out of range", "abs(-9223372036854775808)": "out of range",
		"9223372036854775808": "no number that fits", "int(1e30)": "out of range", "1e308 * 10.0": "double precision out of range",
		"ln(0.0)": "out of range", "sqrt(-1.0)": "out of range", "1 / 0": "division by zero", "1.0 / 0.0": "division by zero", "1 % 0": "division by zero",
		"1 << 64": "a shift by 64", "2.5 & 1": "takes integers", ":t + 1": "abc is no number", "NOT 1": "1 is no boolean", ":d + 1": "variable d has no value yet",
		"1 +": "not complete", "(1": `")" is missing`, "1 2": `unexpected "2"`, "foo": "no function; a variable is written :foo", "randm(1, 2)": "did you mean random?",
		"random(1)": "takes 2 arguments, not 1", "hash()": "1 or 2 arguments, not 0", "1 IS 2": "IS takes NULL, TRUE or FALSE", "CASE END": "CASE needs WHEN",
		"CASE WHEN TRUE 1 END": `"THEN" is expected`, "1 ; 2": "unexpected", "permute(1, 2)": "unknown function permute", "random(2, 1)": "an empty range: 2 to 1",
		"random_exponential(1, 2, 0)": "must be above 0", "random_gaussian(1, 2, 1.9)": "at least 2", "random_zipfian(1, 2, 1.0)": "from 1.001 to 1000",
	} {
		if got, err := eval(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %s (%v), not %q", text, got, err, want)
		}
	}
}

// The whole range of integers is a range, and its products are exact up to its ends.
func TestExtremes(t *testing.T) {
	for text, want := range map[string]string{
		"9223372036854775807 + 0": "9223372036854775807", "4294967296 * -2147483648": "-9223372036854775808",
		"-9223372036854775808 % -1": "0", "3037000499 * 3037000499": "9223372030926249001",
	} {
		if got, err := eval(t, text); got != want || err != nil {
			t.Errorf("%s = %s (%v), want %s", text, got, err, want)
		}
	}
	if _, err := eval(t, "random(-9223372036854775808, 9223372036854775807)"); err != nil {
		t.Error(err)
	}
	if v, err := product(math.MinInt64, 1); err != nil || v.Int != math.MinInt64 {
		t.Error(v, err)
	}
}
