"""Reads Delta tables of a bucket with one library, and writes the rows of each as a Parquet file.

stdin: {"library": ..., "jars": [...], "endpoint": URL, "env": {...}, "databases": {name: URL}, "reads": [{"table": URL, "output": file}]}
A read with "version" reads an earlier state. One with "created_at" writes only the rows of that time, in UTC, and lets the library skip
files. One with "rows" instead of "table" is SQL for DuckDB, which has attached the databases.
"""
import datetime
import json
import os
import sys

request = json.load(sys.stdin)
endpoint = request["endpoint"]
os.environ.update(request["env"], AWS_REGION="us-east-1", AWS_ENDPOINT_URL=endpoint, AWS_ALLOW_HTTP="true")


def instant(text):
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc)


def with_deltalake():
    import deltalake
    import pyarrow.dataset
    import pyarrow.parquet

    def read(table, output, version=None, created_at=None):
        dataset = deltalake.DeltaTable(table, version=version).to_pyarrow_dataset()
        time = pyarrow.dataset.field("created_at")
        rows = dataset.to_table(filter=None if created_at is None else time == instant(created_at))
        pyarrow.parquet.write_table(rows, output)

    return read


def with_polars():
    import polars

    def read(table, output, version=None, created_at=None):
        rows = polars.scan_delta(table, version=version)
        if created_at is not None:
            time = polars.lit(instant(created_at), dtype=polars.Datetime("us", "UTC"))
            rows = rows.filter(polars.col("created_at") == time)
        rows.collect().write_parquet(output)

    return read


def with_duckdb():
    import glob

    import duckdb

    packages = os.path.dirname(os.path.dirname(duckdb.__file__))
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    for name in ["delta", "httpfs", "aws"]:
        (extension,) = glob.glob(f"{packages}/duckdb_extension_{name}/extensions/*/{name}.duckdb_extension")
        connection.execute(f"LOAD '{extension}'")
    host = endpoint.removeprefix("http://")
    connection.execute(
        f"CREATE SECRET (TYPE s3, PROVIDER credential_chain, ENDPOINT '{host}', URL_STYLE 'path', USE_SSL false)"
    )
    for name, url in request["databases"].items():
        connection.execute(f"ATTACH '{url}' AS {name} (READ_ONLY)")

    def read(output, table=None, version=None, created_at=None, rows=None):
        if rows is None:
            rows = f"delta_scan('{table}'{'' if version is None else f', version = {version}'})"
        if created_at is not None:
            rows += f" WHERE created_at = TIMESTAMPTZ '{created_at}+00'"
        connection.execute(f"COPY (SELECT * FROM {rows}) TO '{output}' (FORMAT parquet)")

    return read


def with_spark():
    from pyspark.sql import SparkSession

    options = {
        "spark.driver.extraClassPath": ":".join(request["jars"]),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.shuffle.partitions": "1",
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.endpoint.region": os.environ["AWS_REGION"],
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        # A checkpoint is read by one task instead of 50.
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    builder = SparkSession.builder.master("local[1]")
    for name, value in options.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    def read(table, output, version=None, created_at=None):
        reader = spark.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        rows = reader.load(table.replace("s3://", "s3a://"))
        if created_at is not None:
            rows = rows.where(f"created_at = TIMESTAMP '{created_at}Z'")
        rows.coalesce(1).write.parquet(output)

    return read


read = {
    "deltalake": with_deltalake,
    "polars": with_polars,
    "duckdb": with_duckdb,
    "spark": with_spark,
}[request["library"]]()
for wanted in request["reads"]:
    try:
        read(**wanted)
    except Exception as error:
        raise RuntimeError(f"{wanted}: {error}") from error
print(json.dumps({"reads": len(request["reads"])}))
