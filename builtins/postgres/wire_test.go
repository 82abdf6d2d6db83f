package postgres

import (
	"encoding/binary"
	"strings"
	"testing"

	"sextant/interp/driver"
	"sextant/interp/driver/drivertest"
)

func message(typ byte, body string) string {
	b := binary.BigEndian.AppendUint32([]byte{typ}, uint32(4+len(body)))
	return string(b) + body
}

func TestWireReadsAnyPieces(t *testing.T) {
	long := strings.Repeat("x", 100_000) // larger than the buffer
	row := "\x00\x03" + "\x00\x00\x00\x02ab" + "\xff\xff\xff\xff" + string(binary.BigEndian.AppendUint32(nil, uint32(len(long)))) + long
	reply := message('2', "") + message('D', row) + message('D', "\x00\x01\x00\x00\x00\x01z") + message('C', "SELECT 2\x00") + message('Z', "I")
	failed := message('2', "") + message('E', "SFEHLER\x00VERROR\x00C40001\x00Mno\x00\x00") + message('Z', "I")
	notice := message('2', "") + message('N', "SWARNUNG\x00VWARNING\x00C01000\x00Mcancelled wait\x00\x00") + message('C', "INSERT 0 1\x00") + message('Z', "I")
	for _, size := range []int{1, 3, 7, 4096, 1 << 20} {
		x := newWire(&drivertest.Pieces{In: []byte(reply + failed + notice + message('C', "UPDATE 120\x00") + message('Z', "I")), Size: size})
		do := func() (driver.Reply, error) {
			var r driver.Reply
			x.begin(newStatement("s1", 1))
			x.arg([]byte("k"))
			err := x.do(&r)
			return r, err
		}
		if r, err := do(); err != nil || r.Rows != 2 || r.Bytes != int64(3+len(long)) {
			t.Errorf("pieces of %d: %+v, %v", size, r, err)
		}
		if _, err := do(); !driver.IsConflict(err) {
			t.Errorf("pieces of %d: %v", size, err)
		}
		if _, err := do(); err == nil || !strings.Contains(err.Error(), "cancelled wait") {
			t.Errorf("pieces of %d: a commit that was not replicated: %v", size, err)
		}
		if r, err := do(); err != nil || r.Rows != 120 {
			t.Errorf("pieces of %d: %+v, %v", size, r, err)
		}
		for range 2 {
			if _, err := do(); !driver.IsConnection(err) {
				t.Errorf("pieces of %d: at the end %v", size, err)
			}
		}
	}
}

// FuzzWire: whatever a server sends, reading it ends, without a panic.
func FuzzWire(f *testing.F) {
	f.Add([]byte(message('D', "\x00\x01\x00\x00\x00\x01z") + message('Z', "I")))
	f.Add([]byte(message('E', "Cx\x00")))
	f.Fuzz(func(t *testing.T, in []byte) {
		x := newWire(&drivertest.Pieces{In: in, Size: 5})
		var r driver.Reply
		x.begin(newStatement("s", 0))
		if err := x.do(&r); err == nil && len(in) < 5 {
			t.Error("less than a message was a whole reply")
		}
	})
}
