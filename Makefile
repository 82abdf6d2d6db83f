# Targets: build, demo, test, bench, bench-load, lint, generate, readers, notebook, ci. See README.md.
export CGO_ENABLED ?= 0
PYTHON ?= python3
VENV := .venv

.PHONY: build demo test bench bench-load lint generate servers python readers notebook ci
build:
	go build -trimpath -o bin/sextant ./cmd/sextant

demo: build
	bin/sextant run experiments/quickstart.star

# All tests, with whatever real servers this machine has; `servers` installs what is missing when it may.
test: servers
	go test -timeout 20m ./...

# PostgreSQL, MariaDB (with Galera), Redis and Java from Debian's packages, when root, and Cassandra's jars; otherwise tests that need it say SKIP (SEXTANT_REQUIRE_SERVERS=1: fail).
servers:
	@.ci/servers

bench: build
	go test -run '^$$' -bench . -benchmem -timeout 60m ./interp/... ./builtins/... ./cmd/...

# The load engine alone, and against pgbench, redis-benchmark, sysbench, cassandra-stress and go-ycsb in turns; interp/load/README.md holds its figures.
bench-load:
	go test -run '^$$' -bench 'Recorder|Engine|OpenLoop|ThousandClients|LongRun' -benchmem ./interp/load
	go test -run '^$$' -bench AgainstPgbench -benchtime 1x -timeout 20m ./builtins/postgres
	go test -run '^$$' -bench 'Pipelines|AgainstRedis' -benchtime 1x -timeout 20m ./builtins/redis
	go test -run '^$$' -bench AgainstSysbench -benchtime 1x -timeout 20m ./builtins/mysql
	go test -run '^$$' -bench AgainstStress -benchtime 1x -timeout 20m ./builtins/cassandra
	go test -run '^$$' -bench AgainstGoYCSB -benchtime 1x -timeout 20m ./builtins/mongodb
	go test -run '^$$' -bench 'Loading$$' -benchtime 1x -timeout 20m ./builtins/postgres ./builtins/mysql ./builtins/redis

lint:
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "not gofmt-ed:"; echo "$$out"; exit 1; fi
	go vet ./...
	go run ./cmd/sextant fmt --check experiments/*.star experiments/studies/*.star
	go run ./cmd/sextant check experiments/*.star experiments/studies/[!t]*.star

generate:
	go test ./interp/result -run TestSchemaDocument -update

python: $(VENV)/installed
$(VENV)/installed: analysis/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r analysis/requirements.txt
	touch $@

# The tables of the last quickstart in every reader, and the notebook on them.
readers: python
	$(VENV)/bin/python .ci/readers.py results/quickstart/latest
notebook: python
	$(VENV)/bin/python .ci/notebook.py results/quickstart/latest

ci:
	.ci/run
