package workload

import (
	"encoding/hex"
	"strconv"
	"strings"

	"sextant/interp/load"
)

// wordGen is a generator of texts that look like those of people's records.
type wordGen struct {
	name, doc string
	bytes     int // about
	text      func(b []byte, r *load.Rand, i int64) []byte
}

func wordGens() []wordGen {
	given := strings.Fields("Ada Alan Barbara Claude Donald Edgar Frances Grace Hedy Ida James Jean Katherine Leslie Margaret Niklaus Ole Radia Shafi Tony Ursula Vint Whitfield Yukihiro")
	family := strings.Fields("Adams Becker Carvalho Dubois Eriksen Fischer Garcia Hansen Ivanova Jensen Kowalski Lindqvist Moreau Nakamura Okafor Petrov Quinn Rossi Silva Tanaka Ueda Virtanen Weber Yilmaz Zhang")
	countries := strings.Split("Argentina,Australia,Austria,Belgium,Brazil,Canada,Chile,China,Denmark,Egypt,Finland,France,Germany,Ghana,Greece,India,Ireland,Italy,Japan,Kenya,Mexico,Morocco,Netherlands,Nigeria,Norway,Poland,Portugal,Spain,Sweden,Switzerland,Turkey,United Kingdom", ",")
	one := func(r *load.Rand, of []string) string { return of[r.Uint64N(uint64(len(of)))] }
	digits := func(b []byte, r *load.Rand, n int) []byte {
		for range n {
			b = append(b, '0'+byte(r.Uint64N(10)))
		}
		return b
	}
	return []wordGen{
		{"person_name", "A given and a family name.", 16, func(b []byte, r *load.Rand, _ int64) []byte {
			return append(append(append(b, one(r, given)...), ' '), one(r, family)...)
		}},
		{"email_address", "An address at a domain that is kept for examples.", 30, func(b []byte, r *load.Rand, _ int64) []byte {
			b = append(append(append(b, strings.ToLower(one(r, given))...), '.'), strings.ToLower(one(r, family))...)
			return append(strconv.AppendUint(b, r.Uint64N(10000), 10), "@example.com"...)
		}},
		{"phone_number", "A country code and ten digits.", 14, func(b []byte, r *load.Rand, _ int64) []byte {
			b = strconv.AppendUint(append(b, '+'), 1+r.Uint64N(99), 10)
			return digits(append(b, ' '), r, 10)
		}},
		{"country_name", "The English name of one of 32 countries.", 9, func(b []byte, r *load.Rand, _ int64) []byte { return append(b, one(r, countries)...) }},
	}
}

// appendUUID appends a UUID of version 4 (RFC 9562).
func appendUUID(b []byte, r *load.Rand, _ int64) []byte {
	var u [16]byte
	for i, x := 0, uint64(0); i < 16; i++ {
		if i%8 == 0 {
			x = r.Uint64()
		}
		u[i] = byte(x)
		x >>= 8
	}
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	var text [36]byte
	hex.Encode(text[0:8], u[0:4])
	hex.Encode(text[9:13], u[4:6])
	hex.Encode(text[14:18], u[6:8])
	hex.Encode(text[19:23], u[8:10])
	hex.Encode(text[24:], u[10:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return append(b, text[:]...)
}
