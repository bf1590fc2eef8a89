"""Behaviour of buckets beyond the contract: bad addresses, errors that pass and that last, long listings, local copies,
clocks."""

import json
import os
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from sweepkit.store.database import fenced
from sweepkit.store.files import Entry, ResultsError, age_s, open_files
from sweepkit.store.files import bucket as addresses
from sweepkit.store.files import s3 as module
from sweepkit.store.files.bucket import Bucket
from sweepkit.store.files.s3 import S3Files
from sweepkit.store.leases import Lease, others_in_flight
from sweepkit.store.store import Store
from sweepkit.store.upkeep.compact import compact
from sweepkit.store.views import fetch, run
from sweepkit.store.weights import read_pictures
from tests.s3_endpoint import FAULTS, Endpoint, FaultyProxy
from tests.store_rows import row, rows
from tests.sweepkit.store.conftest import Age

COUNT = "SELECT count(*), count(DISTINCT cell_id) FROM cells"


@pytest.fixture
def place(bucket: str) -> str:
    return f"s3://{bucket}/of/eq3"


@pytest.fixture
def proxy(s3: Endpoint, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    with FaultyProxy(s3.url, delay_s=0.3) as found:
        monkeypatch.setenv("AWS_ENDPOINT_URL", found.url)
        yield found


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between two requests. They pass at once, and the clock of those who wait tells them alone."""
    found: list[float] = []
    monkeypatch.setattr(addresses, "time", SimpleNamespace(monotonic=lambda: sum(found), sleep=found.append))
    return found


def copies(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


# Addresses


@pytest.mark.parametrize(
    "uri, words",
    [
        ("s3://", "no bucket"),
        ("s3:///prefix", "no bucket"),
        ("S3://x", "'x' cannot name a bucket"),
        ("s3://Bad_Bucket/eq3", "'Bad_Bucket' cannot name a bucket: 3 to 63 small letters"),
        ("s3://bucket.", "cannot name a bucket"),
        ("s3://bucket//eq3", "'' cannot be part of a prefix"),
        ("s3://bucket/../eq3", r"'\.\.' cannot be part of a prefix"),
        ("s3://bucket/eq 3", "'eq 3' cannot be part of a prefix: letters, digits"),
        ("s3://bucket/eq3?region=x", "cannot be part of a prefix"),
    ],
)
def test_a_bad_uri_is_named(uri: str, words: str) -> None:
    with pytest.raises(ResultsError, match=words) as told:
        open_files(uri)
    assert "s3://BUCKET/PREFIX" in str(told.value)


def test_a_secret_in_a_uri_is_not_repeated() -> None:
    with pytest.raises(ResultsError, match="credentials come from the environment") as told:
        open_files("s3://key:hidden@bucket/eq3")
    assert "hidden" not in str(told.value)


def test_a_uri_has_one_form() -> None:
    assert open_files("S3://my-bucket/of/eq3/").root == "s3://my-bucket/of/eq3"
    assert open_files("s3://my-bucket/").root == "s3://my-bucket"


@pytest.mark.parametrize(
    "url", ["127.0.0.1:9000", "ftp://host", "http://", "http://ho st", "http://host:port", "http://k:s@host"]
)
def test_a_bad_endpoint_is_named(s3: Endpoint, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", url)
    with pytest.raises(ResultsError, match="AWS_ENDPOINT_URL_S3 is no address of a server: write http://HOST:PORT"):
        open_files("s3://bucket")


def test_a_bad_patience_is_named(s3: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWEEP_S3_RETRY_S", "long")
    with pytest.raises(ResultsError, match="SWEEP_S3_RETRY_S is 'long': it must be a number of seconds, 0 to 3600"):
        open_files("s3://bucket")


def test_a_bucket_that_is_not_there(s3: Endpoint) -> None:
    files = open_files("s3://no-such-bucket/eq3")
    for use in (files.exists, files.prepare, lambda: files.entries("packs"), lambda: files.write("a", b"x")):
        with pytest.raises(ResultsError, match=r"there is no bucket 'no-such-bucket' at http://127.0.0.1"):
            use()


def test_no_credentials(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(ResultsError, match=r"no credentials for s3://.*: set AWS_ACCESS_KEY_ID"):
        open_files(place).exists()


def test_credentials_and_endpoint_do_not_travel(place: str) -> None:
    import pickle

    assert b"AWS" not in (told := pickle.dumps(Store(place))) and b"127.0.0.1" not in told


@pytest.mark.parametrize(
    "status, code, words",
    [
        ("403", "AccessDenied", r"refuses access to s3://lab/eq3 \(AccessDenied\): check AWS_ACCESS_KEY_ID"),
        ("403", "", r"refuses access to s3://lab/eq3 \(HTTP 403\)"),
        ("301", "PermanentRedirect", "is in another region .*: set AWS_REGION"),
        ("400", "InvalidRequest", "refuses a request"),
        ("503", "SlowDown", r"answers with errors \(SlowDown\), tried again for up to 7 s"),
        ("", "", "does not answer"),
    ],
)
def test_answers_in_words(s3: Endpoint, status: str, code: str, words: str) -> None:
    with pytest.raises(ResultsError, match=words):
        raise ResultsError(Bucket("lab", "eq3")._words(code, status, "as the library says it", addresses.Patience(1, 7)))


def test_nobody_listens(s3: Endpoint, pauses: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(ResultsError, match=r"http://127.0.0.1:9 does not answer, tried again for up to 5 s.*check the network"):
        open_files("s3://bucket/eq3").exists()
    assert 1 < sum(pauses) <= 5


# Errors


@pytest.mark.parametrize("fault", FAULTS)
def test_a_burst_of_errors_passes(place: str, proxy: FaultyProxy, fault: str) -> None:
    store = Store(place)
    uses = [
        lambda: store.commit("p", rows(0, 5)),
        lambda: fetch(place, COUNT),
        store.statuses,
        lambda: store.files.read(store.files.entries("packs")[0].path),
        lambda: store.files.entry("packs/none"),
        lambda: store.files.delete("packs/none"),
        store.files.exists,
    ]
    for use in uses:
        proxy.fail_next(fault, 3)
        use()
        proxy.heal()
    assert sum(found == fault for *_, found in proxy.log) >= len(uses)  # a delay holds up one request only
    assert fetch(place, COUNT) == [(5, 5)]


def test_with_a_tenth_of_all_requests_failing_nothing_is_lost_or_doubled(place: str, proxy: FaultyProxy) -> None:
    proxy.delay_s = 0.05
    proxy.fail_at_rate(0.1, seed=0)
    store = Store(place)
    for i in range(30):
        store.commit(f"p{i}", rows(10 * i, 10))
    assert fetch(place, COUNT) == [(300, 300)]
    compact(store.files, now=True)
    assert fetch(place, COUNT) == [(300, 300)]
    proxy.heal()
    assert [len(store.files.entries(folder, hidden=True)) for folder in ("packs", "compacted", "")] == [0, 1, 0]
    assert sum(fault != "" for *_, fault in proxy.log) >= 5  # of some 150 requests


@pytest.mark.parametrize("fault", ["503", "reset", "cut"])
def test_errors_that_last_are_told(
    place: str, proxy: FaultyProxy, pauses: list[float], monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    store = Store(place)
    path = store.commit("p", rows(0, 5))
    monkeypatch.setenv("SWEEP_S3_RETRY_S", "1")
    proxy.fail_always(fault)
    uses = [lambda: fetch(place, COUNT), lambda: store.files.read(path)]
    uses += [lambda: store.commit("q", rows(5, 5))] if fault != "cut" else []  # an answer without content cannot be cut
    for use in uses:
        pauses.clear()
        with pytest.raises(ResultsError, match=r"http://127.* tried again for up to 1 s; results in s3://.*AWS_ENDPOINT_URL"):
            use()
        assert 0 < sum(pauses) <= 1
    proxy.heal()
    store.commit("q", rows(5, 5))
    assert fetch(place, COUNT) == [(10, 10)]


def test_a_lease_outlives_errors_and_never_ends_a_sweep(place: str, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWEEP_S3_RETRY_S", "0.5")
    lease = Lease(Store(place), "me")
    lease.update(["a"])
    proxy.fail_always("503")
    lease.beat()
    lease.release()
    proxy.heal()
    assert set(others_in_flight(Store(place))) == {"a"}  # until it is too old


def test_one_put_a_pack(place: str, proxy: FaultyProxy) -> None:
    Store(place).commit("p", rows(0, 5))
    assert [method for method, *_ in proxy.log] == ["PUT"]


# Listings


def test_a_long_listing_is_whole_and_sorted(place: str, bucket: str, s3: Endpoint) -> None:
    files = open_files(place)
    names = [f"packs/{random.Random(i).randbytes(6).hex()}.parquet" for i in range(2100)]
    names += ["packs/A.parquet", "packs/a", "packs/zz~.parquet", "packs/é.parquet", "packs/.hidden"]
    s3.put_many(bucket, [f"of/eq3/{name}" for name in (*names, "packs/deeper/x.parquet", "packs2/y.parquet")])
    listed = [entry.path for entry in files.entries("packs")]
    assert listed == sorted(name for name in names if name != "packs/.hidden")
    assert len(files.entries("packs", hidden=True)) == len(names)


def test_a_page_that_fails_does_not_begin_the_listing_again(place: str, bucket: str, s3: Endpoint, proxy: FaultyProxy) -> None:
    s3.put_many(bucket, [f"of/eq3/packs/~{i:05d}.parquet" for i in range(4100)])  # all in one range
    proxy.fail_next("", 2)
    proxy.fail_next("cut", 1)
    files = open_files(place)
    proxy.log.clear()
    assert len(files.entries("packs")) == 4100


def test_a_foreign_key_is_told(place: str, bucket: str, s3: Endpoint) -> None:
    s3.put_many(bucket, ["of/eq3/packs//x.parquet"])
    with pytest.raises(ResultsError, match="holds an object whose key no file could have; remove it"):
        open_files(place).entries("packs")


# Copies


def test_a_copy_is_made_once_a_machine(place: str, proxy: FaultyProxy, tmp_path: Path) -> None:
    store = Store(place)
    for i in range(5):
        store.commit(f"p{i}", rows(10 * i, 10))
    assert fetch(place, COUNT) == [(50, 50)]
    assert len(copies(tmp_path)) == 5
    proxy.log.clear()
    entries = store.files.entries("packs")
    assert len({store.files.address(entry) for entry in entries}) == 5
    assert all("list-type" in path for _, path, _ in proxy.log)  # nothing was fetched again


def test_a_copy_that_is_gone_or_torn_is_made_again(place: str, tmp_path: Path) -> None:
    store = Store(place)
    store.commit("p", rows(0, 5))
    (entry,) = store.files.entries("packs")
    copy = Path(store.files.address(entry))
    whole = copy.read_bytes()
    copy.write_bytes(whole[:10])
    assert Path(store.files.address(entry)).read_bytes() == whole
    copy.unlink()
    assert Path(store.files.address(entry)).read_bytes() == whole


def test_a_copy_gets_its_name_once_it_is_whole(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may be reading what has the name."""
    Store(place).commit("p", rows(0, 5))
    write_bytes = Path.write_bytes

    def half(path: Path, data: bytes) -> int:
        write_bytes(path, data[: len(data) // 2])
        assert not path.name.endswith(".parquet")
        return write_bytes(path, data)

    monkeypatch.setattr(Path, "write_bytes", half)
    assert fetch(place, COUNT) == [(5, 5)]
    assert [path.suffix for path in copies(tmp_path)] == [".parquet"]


def test_copies_of_what_is_gone_are_removed(place: str, tmp_path: Path) -> None:
    store = Store(place)
    for i in range(3):
        store.commit(f"p{i}", rows(10 * i, 10))
    assert fetch(place, COUNT) == [(30, 30)]
    old = copies(tmp_path)
    compact(store.files, now=True)
    assert fetch(place, COUNT) == [(30, 30)]
    for path in old:
        os.utime(path, (0, 0))
    module._looked_at.clear()  # as in a new process
    store.files.entries("packs")
    assert [path.parent.name for path in copies(tmp_path)] == ["compacted"]


def test_an_object_replaced_since_it_was_listed_is_not_taken_for_the_old_one(place: str) -> None:
    files = open_files(place)
    files.write("plans/a.parquet", b"old")
    (entry,) = files.entries("plans")
    files.write("plans/a.parquet", b"new")
    with pytest.raises(FileNotFoundError):
        files.address(entry)


def test_a_place_for_copies_that_cannot_be_written(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store(place).commit("p", rows(0, 5))
    (tmp_path / "file").touch()
    monkeypatch.setenv("SWEEP_S3_CACHE", str(tmp_path / "file"))
    with pytest.raises(ResultsError, match=r"cannot keep a copy of s3://.*set SWEEP_S3_CACHE to another place"):
        fetch(place, COUNT)


def test_strangers_sql_reads_the_copies_and_no_other_file(place: str, tmp_path: Path) -> None:
    import duckdb

    Store(place).commit("p", rows(0, 5))
    (tmp_path / "secret.csv").write_text("a\n1\n")
    assert run(place, lambda connection: connection.execute(COUNT).fetchall(), opener=fenced) == [(5, 5)]
    with pytest.raises(duckdb.PermissionException):
        run(place, lambda connection: connection.execute(f"FROM '{tmp_path}/secret.csv'").fetchall(), opener=fenced)


def test_weights_gone_from_a_bucket(place: str) -> None:
    with pytest.raises(ResultsError, match=r"the weights in s3://.*are gone"):
        read_pictures(open_files(place), "weights/x-000000000000.parquet")


# Clocks


@pytest.mark.parametrize("ahead_s", [-7200.0, 7200.0])
def test_a_wrong_clock_here_neither_kills_nor_keeps_leases(
    place: str, age: Age, monkeypatch: pytest.MonkeyPatch, ahead_s: float
) -> None:
    for name, cell in (("other", "a"), ("silent", "b")):
        Lease(Store(place), name).update([cell])
    age(Store(place), "leases/silent.json", 3600)
    module._ahead_s.cache_clear()
    here = SimpleNamespace(time=lambda: time.time() + ahead_s, monotonic=time.monotonic)
    monkeypatch.setattr(module, "time", here)  # the server's clock stays right
    try:
        other, silent = (age_s(open_files(place), entry) for entry in open_files(place).entries("leases"))
        assert other < 1800 and 3590 < silent < 5400
        assert set(others_in_flight(Store(place), max_age_s=1800)) == {"a"}
    finally:
        module._ahead_s.cache_clear()


def test_the_endpoint_tells_its_time(s3: Endpoint) -> None:
    before, told = time.time(), addresses.server_time()
    assert told is not None and before - 1 <= told <= time.time()


def test_commits_from_many_threads(place: str) -> None:
    store = Store(place)
    threads = [threading.Thread(target=store.commit, args=(f"p{i}", [row(i)])) for i in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert fetch(place, COUNT) == [(40, 40)]


def test_what_a_lease_says_is_in_the_bucket(place: str, bucket: str, s3: Endpoint) -> None:
    lease = Lease(Store(place), "me")
    assert s3.keys(bucket) == ["of/eq3/leases/me.json"]
    assert json.loads(S3Files(place).read("leases/me.json"))["pid"] == os.getpid()
    lease.release()
    assert s3.keys(bucket) == []
    assert S3Files(place).entry("leases/me.json") is None
    with pytest.raises(FileNotFoundError):
        S3Files(place).address(Entry("leases/me.json", 1, 0.0))
