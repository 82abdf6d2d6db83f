package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// MeasuredLoads are the seconds that loading each dataset took in earlier runs of an experiment, by fingerprint; of
// several runs the newest counts.
func MeasuredLoads(out, experiment string) (map[string]time.Duration, error) {
	entries, err := os.ReadDir(filepath.Join(out, experiment))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking at earlier runs: %w", err)
	}
	loads := map[string]time.Duration{}
	for _, e := range entries { // names begin with the time of the start
		if !e.IsDir() {
			continue
		}
		journal, err := ReadJournal(filepath.Join(out, experiment, e.Name(), "journal.jsonl"))
		if err != nil {
			continue // not a run, or one that ended before it had a journal
		}
		for _, j := range journal {
			if j.Event == "dataset" {
				loads[j.Dataset] = time.Duration(j.Seconds * float64(time.Second))
			}
		}
	}
	return loads, nil
}
