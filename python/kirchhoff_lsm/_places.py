"""Where sources and receivers are: the conventions of lsm import (docs/positions.md, docs/format.md)."""

from __future__ import annotations

import numpy as np

TOLERANCE = 0.05  # m, within which two positions are one place


def places(xyz):
    """The places [n, 3] of positions [traces, 3], m, in the order in which they occur first, and the place of each
    position [traces]. Positions within the tolerance of an earlier place are that place."""
    from scipy.spatial import cKDTree

    distinct, first, row = np.unique(xyz + 0.0, axis=0, return_index=True, return_inverse=True)  # -0 and 0 are one
    order = np.argsort(first)
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    distinct, row = distinct[order], number[row.ravel()]
    target = np.arange(len(distinct))
    near = cKDTree(distinct).query_pairs(TOLERANCE, output_type="ndarray")
    for i, j in near[np.lexsort((near[:, 0], near[:, 1]))]:  # i < j
        if target[i] == i and target[j] == j:
            target[j] = i
    kept = target == np.arange(len(target))
    return distinct[kept], (np.cumsum(kept) - 1)[target][row].astype(np.int32)


class Line:
    """The straight line of a 2-D survey: x is the distance along it, m, from origin, east and north. Azimuth is in
    degrees from north towards east."""

    def __init__(self, azimuth, origin):
        self.azimuth, self.origin = float(azimuth), np.array(origin, float)
        self.along = np.array({90: (1.0, 0.0), 0: (0.0, 1.0)}.get(self.azimuth, (np.sin(np.radians(azimuth)), np.cos(np.radians(azimuth)))))

    @classmethod
    def fit(cls, east_north):
        """The line with the least squared distances to places [n, 2], rounded as lsm import does."""
        low, high, mean = east_north.min(axis=0), east_north.max(axis=0), east_north.mean(axis=0)
        if high[1] - low[1] <= TOLERANCE:
            return cls(90, (0, east_north[0, 1]))
        if high[0] - low[0] <= TOLERANCE:
            return cls(0, (east_north[0, 0], 0))
        dx, dy = (east_north - mean).T
        azimuth = 90 - np.degrees(0.5 * np.arctan2(2 * (dx @ dy), dx @ dx - dy @ dy))
        line = cls(round(azimuth - 180 if azimuth > 135 else azimuth, 6), mean)
        return cls(line.azimuth, np.round(mean + line.along * line.project(east_north)[0].min(), 3))

    def project(self, east_north):
        """Distances [n] along the line and off it, m."""
        east, north = (east_north - self.origin).T
        return self.along[0] * east + self.along[1] * north, self.along[1] * east - self.along[0] * north

    def at(self, x):
        """East and north [n, 2] of x [n], m."""
        return self.origin + np.multiply.outer(x, self.along)


class Frame:
    """Where x and y of 3-D positions lie on the map, from the attributes of docs/format.md; without them east and north."""

    def __init__(self, attributes):
        self.origin = np.array(attributes.get("frame_origin", (0, 0)), float)
        x = Line(attributes.get("frame_azimuth", 90), self.origin).along
        y = (x[1], -x[0]) if attributes.get("frame_handed") == "left" else (-x[1], x[0])
        self.axes = np.array([x, y], float)

    def to_map(self, xy):
        return self.origin + xy @ self.axes

    def from_map(self, east_north):
        return (east_north - self.origin) @ self.axes.T
