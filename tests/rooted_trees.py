"""The modified field as a series over rooted trees; a tree is the sorted tuple of its branches."""

from fractions import Fraction
from math import factorial


def size(tree):
    return 1 + sum(map(size, tree))


def grafted(tree, branch):
    """Every tree that one more branch makes: the derivative of F(tree) in direction F(branch)."""
    found = [tuple(sorted((*tree, branch)))]
    for place, part in enumerate(tree):
        for grown in grafted(part, branch):
            found.append(tuple(sorted((*tree[:place], grown, *tree[place + 1 :]))))
    return found


def derivative(series, field, most):
    found = {}
    for tree, a in series.items():
        for branch, b in field.items():
            if size(tree) + size(branch) <= most:
                for grown in grafted(tree, branch):
                    found[grown] = found.get(grown, 0) + a * b
    return found


def modified_field(most, rule=None):
    """Coefficients c(tree) with exp(h sum c F) = identity + h f, up to a number of nodes.

    rule: the coefficients of another step in place of that.
    """
    field, rule = {(): Fraction(1)}, rule or {}
    for nodes in range(2, most + 1):
        term, total = dict(field), {}
        for j in range(2, nodes + 1):
            term = derivative(term, field, nodes)
            for tree, a in term.items():
                if size(tree) == nodes:
                    total[tree] = total.get(tree, 0) + a / factorial(j)
        for tree, a in total.items():
            field[tree] = rule.get(tree, 0) - a
    return field
