package result

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write analysis/SCHEMA.md anew")

const document = "../../analysis/SCHEMA.md"

// TestSchemaDocument: the document is that of the row structs, and every column is explained.
func TestSchemaDocument(t *testing.T) {
	want, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(want, "\n") {
		if strings.HasPrefix(line, "| ") && strings.HasSuffix(line, "|  |") {
			t.Errorf("a column without an explanation: %s", line)
		}
	}
	if *update {
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(document)
	if err != nil || string(got) != want {
		t.Errorf("analysis/SCHEMA.md is stale (%v): run make generate", err)
	}
}
