"""Verdicts: what a figure of ours, with its interval, says of a claimed one.

Nothing here runs or reads anything. Ratios are compared by their logarithms, so that twice as much and half
as much are equally far from alike.
"""
import math
import re
import statistics
from typing import NamedTuple

SMALLEST = 1.05   # ratios nearer to 1 than this are no difference worth a claim
ALIKE = 1.10      # "comparable", "close to", "the same": up to this ratio
SHARE_LEAST = 0.5  # of the claimed effect: from here on it is reproduced,
SHARE_MOST = 2.0   # up to here;
SHARE_NONE = 0.1   # and below this nothing of it is there
COUNT_SLACK = 0.05  # of a count for each message
CONFIDENCE = 0.95
OTHERS_MOST = 0.2  # of a processor, taken by other work while something is timed

HOLDS, PARTLY, NOT, NONE = "holds", "partly", "does not hold", "no verdict"


class Claim(NamedTuple):
    """What was claimed: an effect (a ratio), alike (near a ratio), less, more, most or least (a bound)."""
    kind: str
    value: float
    text: str


class Estimate(NamedTuple):
    """Ours. is_exact: the same in every run; then the interval is that of the places."""
    value: float
    low: float
    high: float
    is_exact: bool


def parse_claim(text):
    """A claim as it is written in a stanza: 2.5, ~0.98, <1, >1, <=1.3 or >=0.6; else ValueError."""
    if text in ("<1", ">1"):
        return Claim("less" if text[0] == "<" else "more", 1.0, "less" if text[0] == "<" else "more")
    match = re.fullmatch(r"(<=|>=|~|)([0-9]+(?:\.[0-9]+)?)", text)
    if not match:
        raise ValueError(f"what is \"{text}\"? A claim is 2.5, ~0.98, <1, >1, <=1.3 or >=0.6")
    sign, value = match[1], float(match[2])
    kinds = {"": "effect", "~": "alike", "<=": "most", ">=": "least"}
    words = {"": "", "~": "about ", "<=": "at most ", ">=": "at least "}
    return Claim(kinds[sign], value, words[sign] + match[2])


def is_effect(claim):
    """Is its ratio far enough from 1 to be told apart from none?"""
    return claim.kind != "effect" or (claim.value > 0 and abs(math.log(claim.value)) >= math.log(SMALLEST))


def median_interval(values, confidence=CONFIDENCE):
    """(low, high, coverage) of the median: order statistics, which need no assumption about its errors.

    With fewer than 6 values the outermost two are all there is, and cover less than 95 %.
    """
    ordered = sorted(values)
    n = len(ordered)
    best = (1, 1 - 2 * 0.5 ** n if n > 1 else 0.0)
    outside = 0.0
    for k in range(1, n // 2 + 1):
        outside += math.comb(n, k - 1) * 0.5 ** n
        if 1 - 2 * outside >= confidence:
            best = (k, 1 - 2 * outside)
    return ordered[best[0] - 1], ordered[n - best[0]], best[1]


def estimate_of_rounds(values):
    """Of one figure for each round."""
    low, high, _ = median_interval(values)
    return Estimate(statistics.median(values), low, high, False)


def estimate_of_places(values, is_ratio=True):
    """Of exact figures at several places: their mean (geometric, of ratios), and from least to most."""
    mean = geometric(values) if is_ratio else statistics.mean(values)
    return Estimate(mean, min(values), max(values), True)


def geometric(values):
    """The geometric mean."""
    return math.exp(statistics.mean(math.log(v) for v in values))


def _oriented(estimate, side):
    """Logarithms of value, low and high; where less was claimed, turned round."""
    logs = [side * math.log(v) for v in estimate[:3]]
    return logs[0], min(logs), max(logs)


def _judge_effect(estimate, claim):
    side = 1 if claim.value > 1 else -1
    effect = abs(math.log(claim.value))
    value, low, high = _oriented(estimate, side)
    share = value / effect
    note = f"{share:.0%} of the claimed effect"
    if low > 0:
        if SHARE_LEAST <= share <= SHARE_MOST:
            return HOLDS, note
        return (PARTLY if share >= SHARE_NONE else NOT), note
    if high < SHARE_LEAST * effect:
        return NOT, note
    if estimate.is_exact:
        return (PARTLY if share >= SHARE_NONE else NOT), note
    return NONE, "the interval has both no effect and the claimed one"


def _judge_direction(estimate, claim):
    value, low, high = _oriented(estimate, 1 if claim.kind == "more" else -1)
    least = math.log(SMALLEST)
    if low > 0:
        return (HOLDS, "") if value >= least else (PARTLY, "hardly") if value >= least / 5 else (NOT, "")
    if high < least:
        return NOT, ""
    if estimate.is_exact:
        return (PARTLY, "not everywhere") if value >= least / 5 else (NOT, "")
    return NONE, "the interval has both directions"


def _judge_within(estimate, low, high):
    """Is the interval inside of these bounds?"""
    if low <= estimate.low and estimate.high <= high:
        return HOLDS, ""
    if estimate.high < low or estimate.low > high:
        return NOT, ""
    if estimate.is_exact:
        return PARTLY, "not everywhere"
    return NONE, "the interval reaches beyond the bound"


def judge(estimate, claim):
    """(verdict, note) of a ratio or difference."""
    if claim.kind == "effect":
        return _judge_effect(estimate, claim)
    if claim.kind in ("less", "more"):
        return _judge_direction(estimate, claim)
    if claim.kind == "alike":
        return _judge_within(estimate, claim.value / ALIKE, claim.value * ALIKE)
    slack = abs(claim.value) * 0.005  # of its last digit
    if claim.kind == "most":
        return _judge_within(estimate, -math.inf, claim.value + slack)
    return _judge_within(estimate, claim.value - slack, math.inf)


def judge_count(value, claim):
    """(verdict, note) of a count for each message."""
    slack = COUNT_SLACK * max(1.0, claim.value)
    low = -math.inf if claim.kind == "most" else claim.value - slack
    high = math.inf if claim.kind == "least" else claim.value + slack
    return (HOLDS if low <= value <= high else NOT), ""


def why_no_verdict(is_timed, load, n_cores, others, unmet):
    """Why a figure must not be judged; None: it may.

    is_timed: it was measured by the machine's clock. load: when all began. others: processors that other
    work took meanwhile. unmet: what a counter says against the series, or None.
    """
    if unmet:
        return f"counters contradict: {unmet}"
    if is_timed and load >= n_cores:
        return f"load {load:.1f} on {n_cores} cores when begun"
    if is_timed and others > OTHERS_MOST:
        return f"load: other work took {others:.0%} of a core meanwhile"
    return None
