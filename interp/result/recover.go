package result

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// Sealed says whether the run in dir is finished.
func Sealed(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, sealedMark))
	return err == nil
}

// Recover opens the tables of a run that was interrupted at any point, and tells which trials are committed. Whatever a
// crash left half-made is removed; nothing committed is lost.
func Recover(dir string, schema *Schema, meta Meta) (*Sink, []string, error) {
	if Sealed(dir) {
		return nil, nil, errors.New("the run is sealed: it has nothing left to do")
	}
	s := newSink(dir, schema, meta, 1)
	if err := s.sweep(); err != nil {
		return nil, nil, err
	}
	parts, err := s.parts()
	if err != nil {
		return nil, nil, err
	}
	var trials []string
	for _, n := range parts {
		ids, err := readStrings(filepath.Join(s.partDir(n), "trials.parquet"), "trial_id")
		if err != nil {
			return nil, nil, err
		}
		trials = append(trials, ids...)
		s.part = n + 1
	}
	if err := s.dropOldLogs(); err != nil {
		return nil, nil, err
	}
	records, valid, err := schema.readLog(s.log(s.part))
	if err != nil {
		return nil, nil, err
	}
	for _, r := range records {
		if r.trial != "" {
			trials = append(trials, r.trial)
		}
		s.hold(r.rows)
	}
	if s.wal, err = openWAL(s.log(s.part), valid); err != nil {
		return nil, nil, err
	}
	return s, trials, nil
}

// sweep removes half-made files and folders and makes the folder of tables if it is missing.
func (s *Sink) sweep() error {
	half, err := filepath.Glob(filepath.Join(s.dir, ".writing-*"))
	if err != nil {
		return err
	}
	for _, p := range half {
		err = errors.Join(err, os.RemoveAll(p))
	}
	if err = errors.Join(err, os.MkdirAll(s.tables(), 0o755)); err != nil {
		return fmt.Errorf("clearing up half-written files: %w", err)
	}
	return nil
}

// dropOldLogs removes logs whose rows are in a part already: a crash came between the part and the removal.
func (s *Sink) dropOldLogs() error {
	logs, err := filepath.Glob(filepath.Join(s.dir, "commits-*.log"))
	if err != nil {
		return err
	}
	for _, l := range logs {
		n, _ := strings.CutPrefix(strings.TrimSuffix(filepath.Base(l), ".log"), "commits-")
		if k, aerr := strconv.Atoi(n); aerr == nil && k < s.part {
			err = errors.Join(err, os.Remove(l))
		}
	}
	return err
}

// readStrings reads one text column of a Parquet file.
func readStrings(path, column string) (out []string, err error) {
	f, size, err := openParquet(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	pf, err := parquet.OpenFile(f, size)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	leaf, ok := pf.Schema().Lookup(column)
	if !ok {
		return nil, fmt.Errorf("%s has no column %s", path, column)
	}
	for _, g := range pf.RowGroups() {
		pages := g.ColumnChunks()[leaf.ColumnIndex].Pages()
		out, err = appendStrings(out, pages)
		if err = errors.Join(err, pages.Close()); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
	}
	return slices.Clip(out), nil
}
