"""Distributions of delays as they were asked for, and how far samples are from them and from each other."""

import bisect
import math


def normal(delay, spread):
    return lambda value: 0.5 * math.erfc((delay - value) / (spread * math.sqrt(2)))


def uniform(delay, spread):
    return lambda value: min(1.0, max(0.0, (value - delay + spread) / (2 * spread)))


def pareto(delay, spread):
    """Shape 3, moved and scaled to the mean `delay` and the standard deviation `spread`."""
    def below(value):
        plain = 1.5 + math.sqrt(0.75) * (value - delay) / spread
        return 1 - plain ** -3 if plain > 1 else 0.0
    return below


LAWS = {"normal": normal, "uniform": uniform, "pareto": pareto}


def quantile_of(law, share, low, high):
    """The value below which a law has this share, by halving."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if law(middle) < share else (low, middle)
    return high


def quantile(ordered, share):
    """Of sorted values: the smallest that this share of them does not exceed."""
    return ordered[min(len(ordered) - 1, max(0, math.ceil(len(ordered) * share) - 1))]


def mean(values):
    return sum(values) / len(values)


def deviation(values):
    if len(values) < 2:
        return 0.0
    middle = mean(values)
    return math.sqrt(sum((value - middle) ** 2 for value in values) / (len(values) - 1))


def from_law(ordered, law):
    """Kolmogorov's distance between a sorted sample and a law."""
    count = len(ordered)
    return max(max(law(value) - at / count, (at + 1) / count - law(value))
               for at, value in enumerate(ordered))


def between(left, right):
    """The distance of Kolmogorov and Smirnov between two sorted samples."""
    distance = 0.0
    for value in (*left, *right):
        shares = bisect.bisect_right(left, value) / len(left), bisect.bisect_right(right, value) / len(right)
        distance = max(distance, abs(shares[0] - shares[1]))
    return distance


def doubt(distance, count):
    """How often samples of one law lie further apart by chance (Smirnov 1948, Stephens' correction of 1970).
    `count` is n for a sample against a law, and nm / (n + m) for two samples."""
    root = math.sqrt(count)
    x = distance * (root + 0.12 + 0.11 / root)
    if x < 0.2:
        return 1.0
    terms = (2 * (-1) ** (k - 1) * math.exp(-2 * (k * x) ** 2) for k in range(1, 101))
    return min(1.0, max(0.0, sum(terms)))


STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


def interval(values):
    """Mean and half-width of the 95 % interval of the mean over runs (Student 1908); none of a single run."""
    if len(values) < 2:
        return mean(values), None
    factor = STUDENT[len(values) - 2] if len(values) - 2 < len(STUDENT) else 1.96
    return mean(values), factor * deviation(values) / math.sqrt(len(values))


def wilson(hits, count, z=2.575829):
    """The 99 % interval of a share (Wilson 1927)."""
    centre, spread = hits + z * z / 2, z * math.sqrt(hits * (count - hits) / count + z * z / 4)
    return max(0.0, (centre - spread) / (count + z * z)), min(1.0, (centre + spread) / (count + z * z))
