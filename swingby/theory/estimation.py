"""A task from data: cluster distances, spreads and directions estimated from labelled points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def estimate(
    X: ArrayLike, labels: ArrayLike
) -> tuple[list[float], list[float], NDArray[np.float64]]:
    """Distances, spreads and directions of the clusters of a data set.

    The direction of concept p is the class mean of label p, made orthonormal by the polar
    decomposition; see :meth:`swingby.theory.task.SIMTask.from_samples`.

    Parameters
    ----------
    X : array of shape (N, d)
    labels : array of shape (N,)
        Whole numbers; -1 is the centre cluster.

    Returns
    -------
    mu, sigma : list of s floats
    rotation : ndarray of shape (d, d)
        Column p is the direction of concept p; completed to d directions.

    Raises
    ------
    InvalidInput
        For shapes that do not match, more classes than dimensions, a class with fewer than
        two points, or class means that do not span s directions.
    """
    points = numbers.real_array(X, "X")
    marks = np.asarray(labels)
    if points.ndim != 2:
        raise InvalidInput("X", f"an array of shape {points.shape}", "must have shape (N, d)")
    if marks.shape != points.shape[:1]:
        raise InvalidInput(
            "labels", f"shape {marks.shape}", f"must have shape ({points.shape[0]},)"
        )
    if marks.dtype.kind not in "iu":
        raise InvalidInput("labels", f"an array of {marks.dtype}", "must be whole numbers")
    classes = [mark for mark in np.unique(marks) if mark != -1]
    dim = points.shape[1]
    if not 0 < len(classes) <= dim:
        raise InvalidInput(
            "labels", f"{len(classes)} classes", f"must name between 1 and d = {dim} classes"
        )
    for mark in np.unique(marks):
        if (marks == mark).sum() < 2:
            raise InvalidInput("labels", mark, "must have at least two points in each class")
    means = np.stack([points[marks == mark].mean(axis=0) for mark in classes], axis=1)
    lengths = np.linalg.norm(means, axis=0)
    if not (lengths > 0).all() or np.linalg.matrix_rank(means / lengths) < len(classes):
        raise InvalidInput("X", "these class means", "must span one direction per class")
    left, _, right = np.linalg.svd(means / lengths, full_matrices=True)
    frame = left[:, : len(classes)] @ right
    rotation = np.concatenate([frame, left[:, len(classes) :]], axis=1)
    centred = points.copy()
    for mark in np.unique(marks):
        centred[marks == mark] -= points[marks == mark].mean(axis=0)
    freedom = len(points) - len(np.unique(marks))
    spread = np.sqrt(((centred @ frame) ** 2).sum(axis=0) / freedom)
    centres = np.einsum("dp,dp->p", frame, means)
    return centres.tolist(), spread.tolist(), rotation
