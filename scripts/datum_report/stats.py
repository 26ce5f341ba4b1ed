"""Medians, intervals and ratios of what was measured in rounds, and who is ahead beyond noise."""
import collections
import math

CONFIDENCE = 0.95
MARGIN = 0.05  # who is ahead by less is not ahead
LEAST_ROUNDS = 5  # fewer may all be on one side by chance

# One figure of one source: a value for each round, the best single sample, processor time (us, or None).
Cell = collections.namedtuple('Cell', 'test group unit size values best cpu')
# How many times the first is ahead of the second: the median of the rounds' ratios and its interval.
Ratio = collections.namedtuple('Ratio', 'median low high values')


def median(values):
    """The middle of the values, which are not empty."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def coverage(n, k):
    """How probable it is that the median lies between the k-th value from below and from above (0: the ends)."""
    return 1 - 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n


def interval(values, confidence=CONFIDENCE):
    """Bounds of the median by order statistics: the narrowest pair, as far from both ends, that covers it with this
    confidence; least and most when none does. It supposes nothing of the distribution."""
    ordered = sorted(values)
    k = 0
    while 2 * (k + 1) < len(ordered) - 1 and coverage(len(ordered), k + 1) >= confidence:
        k += 1
    return ordered[k], ordered[-1 - k]


def is_less_better(unit):
    """Of times and memory less is better, of rates and shares more."""
    return unit in ('us', 'ms', 'MiB')


def cost(unit, value):
    """What is the better the less it is, in the same proportion as time. An overlap of p % leaves 100 - p of a transfer
    visible beside a computation as long as that: together 200 - p."""
    if unit == '%':
        return 200 - min(value, 100)
    value = max(value, 1e-9)
    return value if is_less_better(unit) else 1 / value


def ratio_of(values, confidence=CONFIDENCE):
    """A ratio with its interval, of those of the rounds."""
    return Ratio(median(values), *interval(values, confidence), tuple(values))


def compare(unit, ours, theirs, confidence=CONFIDENCE):
    """How many times the cost of theirs is ours, round by round: above 1, ours is better."""
    return ratio_of([cost(unit, b) / cost(unit, a) for a, b in zip(ours, theirs)], confidence)


def is_ahead(ratio, least=1 + MARGIN):
    """Beyond noise: the whole interval is beyond the margin, and so are the odd rounds and the even ones by themselves, so
    that who measures again finds the same. Few rounds say nothing."""
    return (len(ratio.values) >= LEAST_ROUNDS and ratio.low >= least and
            all(median(half) >= least for half in (ratio.values[::2], ratio.values[1::2])))
