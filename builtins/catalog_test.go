package builtins

import "testing"

// TestCatalog: names are unique and everything that a script can write is documented.
func TestCatalog(t *testing.T) {
	if err := Check(); err != nil {
		t.Error(err)
	}
	if len(Drivers()) != len(DriversByName()) {
		t.Error("two drivers have one name")
	}
}
