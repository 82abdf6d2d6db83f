"""Opens every table of a finished run with pandas, polars, DuckDB and Spark, and compares columns, types and values.

usage: readers.py RUN    exit code 1 when any reader sees anything else than pyarrow does
"""

import datetime
import glob
import math
import os
import sys

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

UTC = datetime.timezone.utc


def plain(v):
    """A value as every reader must give it: None, bool, int, float, str, or microseconds since 1970."""
    if v is None or v is pd.NA or v is pd.NaT:
        return None
    if isinstance(v, datetime.datetime):
        if v.tzinfo is None:
            v = v.replace(tzinfo=UTC)
        return round((v - datetime.datetime(1970, 1, 1, tzinfo=UTC)) / datetime.timedelta(microseconds=1))
    if isinstance(v, (bool, str)):
        return v
    if hasattr(v, "item"):
        v = v.item()
    if isinstance(v, float) and not math.isfinite(v):
        raise ValueError(f"a file holds {v}")
    return v


def by_pyarrow(path):
    t = pq.read_table(path)
    return t.column_names, list(zip(*[[plain(v) for v in t.column(c).to_pylist()] for c in t.column_names]))


def by_pandas(path):
    d = pd.read_parquet(path, dtype_backend="pyarrow")
    return list(d.columns), list(zip(*[[plain(v) for v in d[c]] for c in d.columns]))


def by_polars(path):
    d = pl.read_parquet(path)
    return d.columns, [tuple(plain(v) for v in row) for row in d.iter_rows()]


def by_duckdb(path):
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    r = con.execute("SELECT * FROM read_parquet(?)", [path])
    return [c[0] for c in r.description], [tuple(plain(v) for v in row) for row in r.fetchall()]


def by_spark(spark, path):
    d = spark.read.parquet(path)
    return d.columns, [tuple(plain(v) for v in row) for row in d.collect()]


def key(row):
    return tuple((v is not None, type(v).__name__, v if v is not None else 0) for v in row)


def compare(what, want, got):
    """The first difference in words, or None. Types count: 1, 1.0 and True are three values."""
    if list(want[0]) != list(got[0]):
        return f"{what}: columns {got[0]} instead of {want[0]}"
    if len(want[1]) != len(got[1]):
        return f"{what}: {len(got[1])} rows instead of {len(want[1])}"
    for i, (a, b) in enumerate(zip(sorted(want[1], key=key), sorted(got[1], key=key))):
        for name, x, y in zip(want[0], a, b):
            if type(x) is not type(y) or x != y:
                return f"{what}: row {i}, column {name}: {y!r} instead of {x!r}"
    return None


def main(run):
    os.environ["TZ"] = "UTC"
    spark = (
        SparkSession.builder.master("local[1]").appName("readers").config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC").config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1").getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    paths = sorted(glob.glob(os.path.join(run, "*.parquet")))
    if len(paths) < 9:
        sys.exit(f"{run} has only {len(paths)} tables: is the run finished?")
    bad = 0
    for path in paths:
        want = by_pyarrow(path)
        readers = {"pandas": by_pandas, "polars": by_polars, "duckdb": by_duckdb, "spark": lambda p: by_spark(spark, p)}
        differences = [d for name, read in readers.items() if (d := compare(name, want, read(path)))]
        bad += len(differences)
        print(f"{os.path.basename(path):24} {len(want[1]):7} rows x {len(want[0]):2} columns: "
              + ("; ".join(differences) or "the same in pandas, polars, DuckDB and Spark"))
    spark.stop()
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
