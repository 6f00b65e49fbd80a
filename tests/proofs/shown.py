"""What a file shows, judged whatever its words and its digest are."""

from swingby.proofs.checkers import check_witness


def judge(content, *args):
    """Why what a file shows is rejected; nothing if it is accepted."""
    if isinstance(content, dict):
        gone = ("statement", "latex", "digest")
        content = {key: value for key, value in content.items() if key not in gone}
    return check_witness.judge_shown(content, *args)
