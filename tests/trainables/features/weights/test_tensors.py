"""Files of weights: what they may hold, and shapes that are not the wanted ones."""

import pytest
import torch

from trainables.basics import TaskError
from trainables.features.weights.headers import UnreadableError, shapes_in
from trainables.features.weights.tensors import check_shape, loaded

OTHERS = ([torch.zeros(2)], {"a": torch.zeros(2), "epoch": 3}, torch.zeros(2), {"a": {"b": torch.zeros(2)}})


@pytest.mark.parametrize("held", OTHERS)
@pytest.mark.parametrize("is_old", [False, True])
def test_a_file_holds_tensors_by_name_and_nothing_else(tmp_path, held, is_old):
    """Planning, which reads the header alone, refuses what reading the tensors refuses."""
    file = tmp_path / "weights.pth"
    torch.save({"a": torch.ones(2)}, file, _use_new_zipfile_serialization=not is_old)
    assert loaded(file)["a"].tolist() == [1, 1] and shapes_in(file) == {"a": (2,)}
    torch.save(held, file, _use_new_zipfile_serialization=not is_old)
    with pytest.raises(TaskError, match=rf"{file} cannot be read as weights: it holds other things .*; replace it"):
        loaded(file)
    with pytest.raises(UnreadableError):
        shapes_in(file)


@pytest.mark.parametrize("content", [b"", b"no weights at all", b"PK\3\4 torn"])
def test_a_file_that_cannot_be_read_is_told_in_a_line(tmp_path, content):
    file = tmp_path / "weights.pth"
    file.write_bytes(content)
    with pytest.raises(TaskError, match=r"weights\.pth cannot be read as weights: .+; replace it$") as told:
        loaded(file)
    assert "\n" not in str(told.value)


def test_a_tensor_of_another_shape_is_told():
    check_shape("f.bin", "VGG-16's", "a", (2, 3), (2, 3))
    with pytest.raises(TaskError, match=r"^f\.bin is not VGG-16's: a has shape \(3, 2\), and must be \(2, 3\); replace it$"):
        check_shape("f.bin", "VGG-16's", "a", (3, 2), (2, 3))
    with pytest.raises(ValueError, match=r"^f\.bin is not VGG-16's: a is missing, and must be \(2, 3\); replace it$"):
        check_shape("f.bin", "VGG-16's", "a", None, (2, 3), ValueError)
