"""Files of images: one that the system cannot read is not taken for a damaged one."""

import errno
import gzip
import os
import tarfile

import pytest

from trainables.basics import TaskError
from trainables.features.images.files import Place, content


def test_the_content_of_a_file(tmp_path):
    (tmp_path / "plain").write_bytes(b"images")
    (tmp_path / "packed.gz").write_bytes(gzip.compress(b"images"))
    with tarfile.open(tmp_path / "archive", "w") as archive:
        archive.add(tmp_path / "plain", "member")
    for place in (Place(f"{tmp_path}/plain"), Place(f"{tmp_path}/packed.gz"), Place(f"{tmp_path}/archive", "member")):
        assert content(place) == b"images"


@pytest.mark.parametrize("name", ["plain", "packed.gz", "archive"])
def test_a_file_that_cannot_be_read(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(TaskError, match=rf"{name}.* cannot be read: {os.strerror(errno.EISDIR)}$"):
        content(Place(f"{tmp_path}/{name}", "member" if name == "archive" else ""))


@pytest.mark.parametrize("name", ["packed.gz", "archive"])
def test_a_file_that_is_torn(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(b"images" * 100)[:-9] if name == "packed.gz" else b"torn")
    with pytest.raises(TaskError, match=rf"{name}.* is torn \(.*\); replace it"):
        content(Place(f"{tmp_path}/{name}", "member" if name == "archive" else ""))
