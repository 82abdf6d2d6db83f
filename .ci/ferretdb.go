//go:build ignore

// A server of MongoDB's protocol that takes every write and read concern and heeds none: FerretDB 1 on SQLite, for the tests
// of what mongodb's driver finds out about servers. Prints its URL.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	f, err := ferretdb.New(&ferretdb.Config{
		Listener: ferretdb.ListenerConfig{TCP: "127.0.0.1:0"}, Logger: slog.New(slog.DiscardHandler),
		Handler: "sqlite", SQLiteURL: "file:" + os.Args[1] + "/",
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	done := make(chan struct{})
	go func() { f.Run(ctx); close(done) }()
	fmt.Println(f.MongoDBURI())
	<-done
}
