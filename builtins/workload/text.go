package workload

import (
	"encoding/binary"
	"strconv"
	"sync"

	"sextant/interp/load"
)

// fnv64 is the 64-bit FNV-1a hash of n's eight octets, least significant first, as YCSB computes it: without the sign.
func fnv64(n int64) int64 {
	h := uint64(0xcbf29ce484222325)
	for range 8 {
		h ^= uint64(n) & 0xff
		h *= 0x100000001b3
		n >>= 8
	}
	if v := int64(h); v >= 0 {
		return v
	}
	return -int64(h)
}

// appendKey appends YCSB's key text of record n: "user" and the hash of n.
func appendKey(b []byte, n int64) []byte {
	return strconv.AppendInt(append(b, "user"...), fnv64(n), 10)
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"

// pairs holds two characters for every 12 bits.
type pairs [1 << 12]uint16

// textPairs is made when it is first needed.
var textPairs = sync.OnceValue(newPairs)

func newPairs() *pairs {
	var p pairs
	for i := range p {
		p[i] = uint16(alphabet[i>>6]) | uint16(alphabet[i&63])<<8
	}
	return &p
}

// fill writes random text over b: six bits a character, ten characters from each number of r.
func (p *pairs) fill(b []byte, r *load.Rand) {
	for len(b) >= 10 {
		x := r.Uint64()
		binary.LittleEndian.PutUint16(b, p[x&0xfff])
		binary.LittleEndian.PutUint16(b[2:], p[x>>12&0xfff])
		binary.LittleEndian.PutUint16(b[4:], p[x>>24&0xfff])
		binary.LittleEndian.PutUint16(b[6:], p[x>>36&0xfff])
		binary.LittleEndian.PutUint16(b[8:], p[x>>48&0xfff])
		b = b[10:]
	}
	if len(b) == 0 {
		return
	}
	x := r.Uint64()
	for i := range b {
		b[i] = alphabet[x&63]
		x >>= 6
	}
}
