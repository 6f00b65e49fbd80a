"""A proof as a file of its own, audited without the cache, and the states of its lines."""

import swingby


def audit_text(text, tmp_path):
    file = tmp_path / "my.proof"
    file.write_text(text, encoding="utf-8")
    return swingby.audit(file, cache=False, progress=False)


def states(ledger):
    return {line.id: line.state for line in ledger.standing()}
