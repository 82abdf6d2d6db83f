package lang

import "go.starlark.net/syntax"

// guardStmts replaces every x * y and x + y by a call of their guards, at the operator's position.
func guardStmts(stmts []syntax.Stmt) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *syntax.AssignStmt:
			s.RHS = guardExpr(s.RHS)
			s.LHS = guardExpr(s.LHS)
			if id, ok := s.LHS.(*syntax.Ident); ok && s.Op == syntax.STAR_EQ {
				s.RHS = guardCall(repeatGuard, s.OpPos, &syntax.Ident{NamePos: id.NamePos, Name: id.Name}, s.RHS)
				s.Op = syntax.EQ
			}
		case *syntax.DefStmt:
			guardAll(s.Params)
			guardStmts(s.Body)
		case *syntax.ExprStmt:
			s.X = guardExpr(s.X)
		case *syntax.ForStmt:
			s.X = guardExpr(s.X)
			guardStmts(s.Body)
		case *syntax.WhileStmt:
			s.Cond = guardExpr(s.Cond)
			guardStmts(s.Body)
		case *syntax.IfStmt:
			s.Cond = guardExpr(s.Cond)
			guardStmts(s.True)
			guardStmts(s.False)
		case *syntax.ReturnStmt:
			if s.Result != nil {
				s.Result = guardExpr(s.Result)
			}
		}
	}
}

func guardAll(list []syntax.Expr) {
	for i, e := range list {
		list[i] = guardExpr(e)
	}
}

func guardCall(guard string, pos syntax.Position, x, y syntax.Expr) syntax.Expr {
	return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: pos, Name: guard}, Lparen: pos, Args: []syntax.Expr{x, y}, Rparen: pos}
}

func guardExpr(e syntax.Expr) syntax.Expr {
	switch e := e.(type) {
	case *syntax.BinaryExpr:
		if e.Op == syntax.EQ { // a keyword argument or a parameter's default
			e.Y = guardExpr(e.Y)
			return e
		}
		e.X, e.Y = guardExpr(e.X), guardExpr(e.Y)
		switch e.Op {
		case syntax.STAR:
			return guardCall(repeatGuard, e.OpPos, e.X, e.Y)
		case syntax.PLUS:
			return guardCall(joinGuard, e.OpPos, e.X, e.Y)
		}
	case *syntax.CallExpr:
		e.Fn = guardExpr(e.Fn)
		guardAll(e.Args)
	case *syntax.Comprehension:
		e.Body = guardExpr(e.Body)
		for _, c := range e.Clauses {
			switch c := c.(type) {
			case *syntax.ForClause:
				c.X = guardExpr(c.X)
			case *syntax.IfClause:
				c.Cond = guardExpr(c.Cond)
			}
		}
	case *syntax.CondExpr:
		e.Cond, e.True, e.False = guardExpr(e.Cond), guardExpr(e.True), guardExpr(e.False)
	case *syntax.DictEntry:
		e.Key, e.Value = guardExpr(e.Key), guardExpr(e.Value)
	case *syntax.DictExpr:
		guardAll(e.List)
	case *syntax.DotExpr:
		e.X = guardExpr(e.X)
	case *syntax.IndexExpr:
		e.X, e.Y = guardExpr(e.X), guardExpr(e.Y)
	case *syntax.LambdaExpr:
		guardAll(e.Params)
		e.Body = guardExpr(e.Body)
	case *syntax.ListExpr:
		guardAll(e.List)
	case *syntax.ParenExpr:
		e.X = guardExpr(e.X)
	case *syntax.SliceExpr:
		e.X = guardExpr(e.X)
		for _, p := range []*syntax.Expr{&e.Lo, &e.Hi, &e.Step} {
			if *p != nil {
				*p = guardExpr(*p)
			}
		}
	case *syntax.TupleExpr:
		guardAll(e.List)
	case *syntax.UnaryExpr:
		if e.X != nil {
			e.X = guardExpr(e.X)
		}
	}
	return e
}
