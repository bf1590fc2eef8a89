"""That the campaign sees what is in a bucket."""

from pathlib import Path

from sweepkit.store.files import open_files
from tests.s3_endpoint import Endpoint


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_mirror_holds_what_lies_below_the_prefix(s3: Endpoint, bucket: str, tmp_path: Path):
    folder = tmp_path / "mirror"
    s3.mirror(bucket, "of/eq3", folder)
    assert _files(folder) == {}
    s3.put_many(bucket, ["of/eq3/packs/a", "of/eq3/b", "of/eq32/c", "d"], b"1")
    s3.mirror(bucket, "of/eq3", folder)
    assert _files(folder) == {"packs/a": b"1", "b": b"1"}
    s3.put_many(bucket, ["of/eq3/packs/a"], b"2")
    open_files(f"s3://{bucket}/of/eq3").delete("b")
    s3.mirror(bucket, "of/eq3", folder)
    assert _files(folder) == {"packs/a": b"2"}
