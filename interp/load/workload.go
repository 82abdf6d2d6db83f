package load

import "sextant/interp/driver"

// A Workload makes the rows and the operation streams of one measured workload. Everything random in it is a pure
// function of (seed, client, index), so the same plan gives the same operations on every machine.
type Workload interface {
	driver.RowSource
	// Shape is the tables and operation types: what sessions prepare.
	Shape() *driver.Workload
	// Client is the generator of one client. Start is called once per trial before any of its clients are made.
	Client(client int) Generator
	// Start forgets what the trial before has inserted. Seed is the trial's: operation streams differ between trials,
	// the dataset does not.
	Start(seed uint64)
}

// A Generator makes one client's operations. It belongs to one goroutine and allocates nothing per call.
type Generator interface {
	// Next fills op with the operation that r's stream gives. The engine has positioned r on (seed, client, index).
	Next(r *Rand, op *driver.Op)
}

// An Acker is a Generator that must know which of its operations the server acknowledged (an insert's key may be read
// by others only then).
type Acker interface {
	Ack(op *driver.Op, ok bool)
}
