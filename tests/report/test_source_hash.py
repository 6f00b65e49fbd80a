"""Hashes of sources of the package: what they import counts, their words do not."""

from swingby.report import source_hash


def test_a_hash_is_of_what_a_source_imports_and_not_of_its_words(tmp_path, monkeypatch):
    """Sources of a small package of the same name: one imports the other through its folder."""
    folder = tmp_path / "part"
    folder.mkdir()
    (folder / "__init__.py").write_text("from swingby.part.deep import f\n")
    deep, top = folder / "deep.py", tmp_path / "top.py"
    deep.write_text('"""Words."""\n\n\ndef f():\n    """More."""\n    return 1\n')
    top.write_text("from swingby.part import f\n")
    monkeypatch.setattr(source_hash, "PACKAGE", tmp_path)
    first = source_hash.hash_of(top, words=False), source_hash.hash_of(top)
    deep.write_text("def f():  # a remark\n    return 1\n")
    second = source_hash.hash_of(top, words=False), source_hash.hash_of(top)
    assert (first[0] == second[0], first[1] == second[1]) == (True, False)
    deep.write_text("def f():\n    return 2\n")
    assert source_hash.hash_of(top, words=False) != first[0]
