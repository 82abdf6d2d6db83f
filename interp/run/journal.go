package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// An Entry is one line of the journal.
type Entry struct {
	At      time.Time `json:"at"`
	Event   string    `json:"event"` // start, resume, dataset, trial, recovered, interrupted, sealed
	Trial   string    `json:"trial,omitempty"`
	Status  string    `json:"status,omitempty"`
	Dataset string    `json:"dataset,omitempty"`
	Rows    int64     `json:"rows,omitempty"`
	Seconds float64   `json:"seconds,omitempty"`
	Text    string    `json:"text,omitempty"`
}

// A Journal is an append-only file of JSON lines, each synced before Add returns.
type Journal struct {
	f    *os.File
	size int64
}

// OpenJournal opens or makes a journal and gives its entries. A torn line or trash at the end is cut off: the entries
// before it count, and what the lost line said is mended from the committed rows.
func OpenJournal(path string) (*Journal, []Entry, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the journal: %w", err)
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("reading the journal: %w", err), f.Close())
	}
	entries, valid := parseJournal(b)
	if err := f.Truncate(valid); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("cutting the torn end off the journal: %w", err), f.Close())
	}
	if _, err := f.Seek(valid, io.SeekStart); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("opening the journal: %w", err), f.Close())
	}
	return &Journal{f: f, size: valid}, entries, nil
}

// ReadJournal gives the whole entries of a journal without touching it.
func ReadJournal(path string) ([]Entry, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	entries, _ := parseJournal(b)
	return entries, nil
}

func parseJournal(b []byte) (entries []Entry, valid int64) {
	for {
		i := bytes.IndexByte(b[valid:], '\n')
		if i < 0 {
			return entries, valid
		}
		var e Entry
		if json.Unmarshal(b[valid:valid+int64(i)], &e) != nil || e.Event == "" {
			return entries, valid
		}
		entries = append(entries, e)
		valid += int64(i) + 1
	}
}

// Add appends an entry. After an error the journal is as it was before.
func (j *Journal) Add(e Entry) error {
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("writing the journal: %w", err)
	}
	b = append(b, '\n')
	if _, err = j.f.Write(b); err == nil {
		err = j.f.Sync()
	}
	if err != nil {
		_, serr := j.f.Seek(j.size, io.SeekStart)
		return errors.Join(fmt.Errorf("writing the journal: %w", err), j.f.Truncate(j.size), serr)
	}
	j.size += int64(len(b))
	return nil
}

// Close closes the file.
func (j *Journal) Close() error { return j.f.Close() }
