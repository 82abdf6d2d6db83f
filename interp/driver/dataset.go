package driver

import (
	"fmt"
	"strings"
)

// Marker begins the comment on a table, in any system that has comments, by which a dataset is known again; its fingerprint
// follows. Where a table is made and filled in several steps, Unfinished stands for the fingerprint until it is whole.
const (
	Marker     = "sextant dataset "
	Unfinished = "unfinished"
)

// MarkedFingerprint is the fingerprint in a table's comment; "" when it is none of sextant's.
func MarkedFingerprint(comment string) string {
	if fp, ours := strings.CutPrefix(comment, Marker); ours {
		return fp
	}
	return ""
}

// InspectTables makes the state of a dataset of what look finds of each table. A fingerprint of "" is a table that sextant did
// not make; the dataset has one only when all tables are there and have the same.
func InspectTables(w *Workload, look func(t *Table) (exists bool, fingerprint string, rows int64, err error)) (DatasetState, error) {
	st := DatasetState{Ours: true}
	for i := range w.Tables {
		exists, fp, rows, err := look(&w.Tables[i])
		if err != nil {
			return DatasetState{}, err
		}
		if i == 0 {
			st.Fingerprint = fp
		} else if fp != st.Fingerprint {
			st.Fingerprint = ""
		}
		st.Rows = append(st.Rows, rows)
		if !exists {
			st.Fingerprint = ""
			continue
		}
		st.Exists = true
		st.Ours = st.Ours && fp != ""
	}
	if st.Fingerprint == Unfinished {
		st.Fingerprint = ""
	}
	if !st.Exists {
		st.Ours, st.Rows = false, nil
	}
	return st, nil
}

// Foreign is the error about a table ("table", "collection") that is there and has no fingerprint: sextant did not make it.
func Foreign(what, name string, exists bool, fingerprint, hint string) error {
	if !exists || fingerprint != "" {
		return nil
	}
	return &Error{Class: Constraint, Err: fmt.Errorf("there is a %s %q that sextant did not make; it is left as it is", what, name), Hint: hint}
}
