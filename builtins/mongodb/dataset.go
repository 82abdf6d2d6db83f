package mongodb

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"sextant/interp/driver"
)

// marks is the collection that says which collections are sextant's, and of which dataset. While one is loaded, its mark is
// driver.Unfinished.
const marks = "sextant_datasets"

// tableState says whether a collection of that name is found, and of which dataset it is ("": not sextant's).
func (s *system) tableState(ctx context.Context, name string) (exists bool, fingerprint string, err error) {
	found, err := s.db.ListCollectionNames(ctx, bson.D{{Key: "name", Value: name}})
	if err != nil || len(found) == 0 {
		return false, "", wrap(err)
	}
	var mark struct {
		Fingerprint string `bson:"fingerprint"`
	}
	err = s.db.Collection(marks).FindOne(ctx, bson.D{{Key: "_id", Value: name}}).Decode(&mark)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return true, "", nil
	}
	return true, mark.Fingerprint, wrap(err)
}

func (s *system) mark(ctx context.Context, name, fingerprint string) error {
	_, err := s.db.Collection(marks).ReplaceOne(ctx, bson.D{{Key: "_id", Value: name}}, bson.D{{Key: "_id", Value: name}, {Key: "fingerprint", Value: fingerprint}}, options.Replace().SetUpsert(true))
	return wrap(err)
}

func (s *system) Inspect(ctx context.Context, w *driver.Workload) (driver.DatasetState, error) {
	return driver.InspectTables(w, func(t *driver.Table) (exists bool, fingerprint string, rows int64, err error) {
		if exists, fingerprint, err = s.tableState(ctx, t.Name); err != nil {
			return exists, fingerprint, 0, fmt.Errorf("looking at the dataset: %w", err)
		}
		if !exists {
			return false, "", 0, nil
		}
		if rows, err = s.db.Collection(t.Name).CountDocuments(ctx, bson.D{}); err != nil {
			err = fmt.Errorf("counting the documents of %s: %w", t.Name, wrap(err))
		}
		return exists, fingerprint, rows, err
	})
}

func (s *system) foreign(ctx context.Context, name string) error {
	exists, fp, err := s.tableState(ctx, name)
	if err != nil {
		return err
	}
	return driver.Foreign("collection", name, exists, fp, "rename it, or use another database")
}

// Load makes the collections by inserts in batches, unordered, and waits for most members.
func (s *system) Load(ctx context.Context, w *driver.Workload, fingerprint string, rows driver.RowSource) error {
	for _, t := range w.Tables {
		if err := s.foreign(ctx, t.Name); err != nil {
			return err
		}
	}
	for i, t := range w.Tables {
		if err := s.loadTable(ctx, i, t, rows); err != nil {
			return fmt.Errorf("loading %s: %w", t.Name, err)
		}
	}
	for _, t := range w.Tables {
		if err := s.mark(ctx, t.Name, fingerprint); err != nil {
			return fmt.Errorf("loading: %w", err)
		}
	}
	// the pages are written to the disk, so that the first trial doesn't share it with them
	if _, err := command(ctx, s.client.Database("admin"), bson.D{{Key: "fsync", Value: 1}}); err != nil {
		s.log("warning", fmt.Sprintf("the server was not asked to write its pages after loading, so the first trial shares the disk with it: %v", err))
	}
	return nil
}

// Batches end with the first of these limits.
const (
	batchRows  = 1000
	batchBytes = 8 << 20
)

func (s *system) loadTable(ctx context.Context, index int, t driver.Table, rows driver.RowSource) error {
	if t.Key == "" || t.KeyType != driver.Text {
		return &driver.Error{Class: driver.Other, Err: errors.New("MongoDB's collections of sextant have a key of text")}
	}
	if err := s.mark(ctx, t.Name, driver.Unfinished); err != nil { // first: what a killed load leaves is known to be sextant's
		return err
	}
	coll := s.db.Collection(t.Name, options.Collection().SetWriteConcern(writeconcern.Majority()))
	if err := coll.Drop(ctx); err != nil {
		return wrap(err)
	}
	if err := s.db.CreateCollection(ctx, t.Name); err != nil {
		return wrap(err)
	}
	for _, f := range t.Indexes {
		if _, err := coll.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: f, Value: 1}}}); err != nil {
			return wrap(err)
		}
	}
	var row driver.Row
	var batch []any
	size, n := 0, rows.Rows(index)
	for i := range n {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		rows.Row(index, i, &row)
		at, b := bsoncore.AppendDocumentStart(nil)
		b = text8(b, "_id", row.Key)
		for k, v := range row.Values {
			b = text8(b, t.Fields[k].Name, v)
		}
		b, _ = bsoncore.AppendDocumentEnd(b, at)
		batch, size = append(batch, bson.Raw(b)), size+len(b)
		if len(batch) < batchRows && size < batchBytes && i < n-1 {
			continue
		}
		if _, err := coll.InsertMany(ctx, batch, options.InsertMany().SetOrdered(false)); err != nil {
			return fmt.Errorf("rows up to %d: %w", i, wrap(err))
		}
		batch, size = batch[:0], 0
	}
	return nil
}

func (s *system) Drop(ctx context.Context, w *driver.Workload) error {
	for _, t := range w.Tables {
		if err := s.foreign(ctx, t.Name); err != nil {
			return err
		}
		if err := s.db.Collection(t.Name).Drop(ctx); err != nil {
			return wrap(err)
		}
		if _, err := s.db.Collection(marks).DeleteOne(ctx, bson.D{{Key: "_id", Value: t.Name}}); err != nil {
			return wrap(err)
		}
	}
	return nil
}
