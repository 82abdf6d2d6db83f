package pgscript

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sextant/interp/driver"
	"sextant/interp/load"
)

// A Program is one client's run of a script. It is a driver.Program.
type Program struct {
	s     *Script
	first int // number of the script's first statement among the workload's
	start load.Rand
	env   env
	args  []driver.Arg
	res   driver.Result
}

// NewProgram makes a client's program. first is the number of the script's first statement in the workload; given are the
// values of Given().
func (s *Script) NewProgram(first int, given map[string]int64) *Program {
	p := &Program{s: s, first: first, env: env{vars: make([]value, len(s.vars)), set: make([]bool, len(s.vars)), seed: given["default_seed"]}}
	for i, name := range Given() { // they have the first slots
		p.env.vars[i], p.env.set[i] = integer(given[name]), true
	}
	p.env.rng = new(load.Rand)
	return p
}

// Begin makes the next run take its random numbers from r on. A run that is tried again takes the same ones.
func (p *Program) Begin(r *load.Rand) { p.start = *r }

// Run does the transaction once.
func (p *Program) Run(ctx context.Context, s driver.Session, reply *driver.Reply) error {
	t, ok := s.(driver.Transactor)
	if !ok {
		return &driver.Error{Class: driver.Other, Err: fmt.Errorf("this system runs no SQL")}
	}
	*p.env.rng = p.start
	clear(p.env.set[len(Given()):])
	var pipe driver.Pipeliner
	for pc := 0; pc < len(p.s.cmds); pc++ {
		c := &p.s.cmds[pc]
		switch c.kind {
		case cmdSQL:
			if err := p.sql(ctx, t, pipe, c, reply); err != nil {
				return err
			}
		case cmdSet:
			v, err := c.expr(&p.env)
			if err != nil {
				return p.failure(c, err)
			}
			p.env.vars[c.slot], p.env.set[c.slot] = v, true
		case cmdIf:
			v, err := c.expr(&p.env)
			is := false
			if err == nil {
				is, err = holds(v)
			}
			if err != nil {
				return p.failure(c, err)
			}
			if !is {
				pc = c.jump - 1
			}
		case cmdJump:
			pc = c.jump - 1
		case cmdSleep:
			if err := p.sleep(ctx, c); err != nil {
				return err
			}
		case cmdPipeline:
			if pipe, ok = t.(driver.Pipeliner); !ok {
				return p.failure(c, fmt.Errorf("this system has no pipelines"))
			}
		case cmdFlush:
			err := pipe.Flush(ctx, &p.res)
			reply.Rows += p.res.Rows
			reply.Bytes += p.res.Bytes
			if err != nil {
				return err
			}
			if !c.more {
				pipe = nil
			}
		}
	}
	return nil
}

// failure is an error of the script itself, not of the server.
func (p *Program) failure(c *command, err error) error {
	return &driver.Error{Class: driver.Other, Code: "script", Err: fmt.Errorf("%s, line %d: %w", p.s.Name, c.line, err)}
}

func (p *Program) sql(ctx context.Context, t driver.Transactor, pipe driver.Pipeliner, c *command, reply *driver.Reply) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p.args = p.args[:0]
	for _, slot := range c.args {
		if !p.env.set[slot] {
			return p.failure(c, fmt.Errorf("variable %s has no value yet", p.s.vars[slot]))
		}
		p.args = append(p.args, p.env.vars[slot])
	}
	if pipe != nil {
		return pipe.Queue(p.first+c.stmt, p.args)
	}
	p.res.Keep = c.gset
	if err := t.Run(ctx, p.first+c.stmt, p.args, &p.res); err != nil {
		return err
	}
	reply.Rows += p.res.Rows
	reply.Bytes += p.res.Bytes
	if !c.gset {
		return nil
	}
	if p.res.Rows != 1 {
		return p.failure(c, fmt.Errorf(`\gset takes exactly one row, not %d`, p.res.Rows))
	}
	for i, col := range p.res.Columns {
		slot := slices.Index(p.s.vars, c.prefix+col.Name)
		if slot < 0 {
			continue // nothing in the script can name it
		}
		v := value{}
		if text := p.res.Values[i]; text != nil {
			v = number(value{Kind: driver.TextArg, Text: slices.Clone(text)})
		}
		p.env.vars[slot], p.env.set[slot] = v, true
	}
	return nil
}

func (p *Program) sleep(ctx context.Context, c *command) error {
	v, err := c.expr(&p.env)
	var n int64
	if err == nil {
		n, err = asInt(v)
	}
	if err != nil {
		return p.failure(c, err)
	}
	timer := time.NewTimer(time.Duration(max(n, 0)) * c.unit)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
