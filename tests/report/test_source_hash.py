"""Hashes of sources of the package: what they import counts."""

from swingby.report import source_hash


def test_a_hash_is_of_what_a_source_imports(tmp_path, monkeypatch):
    """Sources of a small package of the same name: one imports the other through its folder."""
    folder = tmp_path / "part"
    folder.mkdir()
    (folder / "__init__.py").write_text("from swingby.part.deep import f\n")
    deep, top, beside = folder / "deep.py", tmp_path / "top.py", folder / "beside.py"
    deep.write_text("def f():\n    return 1\n")
    top.write_text("from swingby.part import f\n")
    beside.write_text("size = 1\n")
    monkeypatch.setattr(source_hash, "PACKAGE", tmp_path)
    first = source_hash.hash_of("top.py")
    beside.write_text("size = 2\n")
    assert source_hash.hash_of("top.py") == first
    deep.write_text("def f():\n    return 2\n")
    assert source_hash.hash_of("top.py") != first
