package mongodb

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"sextant/interp/driver"
)

// honesty is what a server really does with what commands carry. A server that takes an unknown write concern or read
// concern without a word ignores them all; one that answers an unacknowledged write leaves its connection one reply behind.
type honesty struct {
	writeConcern, readConcern, silent bool
}

// honest asks the server once.
func (s *system) honest(ctx context.Context) (*honesty, error) {
	s.probing.Lock()
	defer s.probing.Unlock()
	if s.probed != nil {
		return s.probed, nil
	}
	h := &honesty{}
	// an update of a document that isn't there writes nothing, whatever becomes of its concern
	_, err := command(ctx, s.db, bson.D{{Key: "update", Value: "sextant_probe"}, {Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: bson.D{{Key: "_id", Value: "probe"}}}, {Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "x", Value: 1}}}}}}}},
		{Key: "writeConcern", Value: bson.D{{Key: "w", Value: "sextant-no-such-tag"}, {Key: "wtimeout", Value: 1000}}}})
	switch class, _ := driver.Classify(err); {
	case err == nil && s.topology == "standalone" && s.kind == "MongoDB":
		h.writeConcern = true // a standalone mongod takes any, as it has nobody to wait for
	case class == driver.Connection, class == driver.Auth:
		return nil, err
	default:
		h.writeConcern = err != nil
	}
	_, err = command(ctx, s.db, bson.D{{Key: "find", Value: "sextant_probe"}, {Key: "limit", Value: 1}, {Key: "readConcern", Value: bson.D{{Key: "level", Value: "sextant-no-such-level"}}}})
	if class, _ := driver.Classify(err); class == driver.Connection || class == driver.Auth {
		return nil, err
	}
	h.readConcern = err != nil
	if h.silent, err = s.silentAfterUnacknowledged(ctx); err != nil {
		return nil, err
	}
	s.probed = h
	return h, nil
}

// silentAfterUnacknowledged sends a write that asks for no reply, then a ping, on a connection of its own, and sees which of
// the two the first reply is for. The write needs no login: a server must not answer it either way.
func (s *system) silentAfterUnacknowledged(ctx context.Context) (bool, error) {
	host, _, _ := strings.Cut(s.address, ", ")
	if !strings.Contains(host, ":") {
		host += ":27017"
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", host)
	if err == nil && s.secure {
		cfg := clientOptions(s.url).TLSConfig.Clone()
		if cfg.ServerName == "" {
			cfg.ServerName, _, _ = net.SplitHostPort(host)
		}
		conn = tls.Client(conn, cfg)
	}
	if err != nil {
		return false, wrap(err)
	}
	defer conn.Close() //nolint:errcheck // it has been read from
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return false, wrap(err)
	}
	write := bson.D{{Key: "update", Value: "sextant_probe"}, {Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: bson.D{{Key: "_id", Value: "probe"}}}, {Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "x", Value: 1}}}}}}}},
		{Key: "writeConcern", Value: bson.D{{Key: "w", Value: 0}}}, {Key: "$db", Value: s.database}}
	const moreToCome = 2
	for id, m := range []struct {
		flags uint32
		cmd   bson.D
	}{{moreToCome, write}, {0, bson.D{{Key: "ping", Value: 1}, {Key: "$db", Value: "admin"}}}} {
		b, err := message(uint32(id+1), m.flags, m.cmd)
		if err != nil {
			return false, err
		}
		if _, err := conn.Write(b); err != nil {
			return false, wrap(err)
		}
	}
	var head [16]byte // length, request id, the request that it answers, operation code
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return false, wrap(fmt.Errorf("waiting for the reply to a ping: %w", err))
	}
	switch to := binary.LittleEndian.Uint32(head[8:]); to {
	case 1:
		return false, nil
	case 2:
		return true, nil
	default:
		return false, errors.New("the server's first reply is for no request of ours")
	}
}

// message is an OP_MSG with one section (MongoDB's wire protocol).
func message(id, flags uint32, cmd bson.D) ([]byte, error) {
	doc, err := bson.Marshal(cmd)
	if err != nil {
		return nil, err
	}
	const opMsg = 2013
	b := binary.LittleEndian.AppendUint32(nil, uint32(16+4+1+len(doc)))
	for _, v := range []uint32{id, 0, opMsg, flags} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return append(append(b, 0), doc...), nil
}

// lookup reads a number of a reply.
func lookup(reply bson.Raw, key string) int64 {
	n, _ := bsoncore.Document(reply).Lookup(key).AsInt64OK()
	return n
}
