"""From samples and counters to a verdict for each row of an experiment."""
from dataclasses import dataclass
from statistics import mean

import stanzas
import verdict


@dataclass
class Outcome:
    """What came of one row."""
    one: stanzas.Experiment
    row: stanzas.Row
    method: str
    claimed: str
    estimate: verdict.Estimate
    word: str
    note: str
    is_timed: bool

    def ours(self):
        """Our figure and its interval."""
        if self.estimate is None:
            return ""
        unit = " us" if self.row.kind == "extra" else ""
        value, low, high = (number(v) for v in self.estimate[:3])
        return value + unit if low == value == high else f"{value}{unit} [{low}, {high}]"

    def verdict(self):
        """In words, with why."""
        notes = [self.note] if self.note else []
        if self.word in (verdict.PARTLY, verdict.NOT) and self.row.because:
            notes.append(self.row.because)
        return self.word + (": " + "; ".join(notes) if notes else "")


def number(value):
    """With three digits that matter, two behind the point at most."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _places(data, row):
    """[(place of A, place of B)] that the row is about."""
    if row.a[1]:
        return [(row.a[1], row.b[1])]
    places = data.places()
    if row.places != "-":
        least, most = stanzas.range_of(row.places)
        places = [p for p in places if p.isdigit() and least <= int(p) <= most]
    return [(p, p) for p in places]


def _figures(data, row):
    """[[a compared with b, a round each] for each place]; [] when there is nothing."""
    a, b = data.samples.get(row.a[0], {}), data.samples.get(row.b[0], {})
    pairs = [(a[p], b[q]) for p, q in _places(data, row) if p in a and q in b]
    compare = (lambda x, y: x / y) if row.kind == "check" else (lambda x, y: x - y)

    def of_round(samples, i):
        return samples[min(i, len(samples) - 1)].median  # what is known is one for all rounds

    n = min((max(len(x), len(y)) for x, y in pairs), default=0)
    return [[compare(of_round(x, i), of_round(y, i)) for i in range(n)] for x, y in pairs]


def _estimate(data, row, is_exact):
    """Of a check or an extra; None: there is nothing to tell it from."""
    at_places = _figures(data, row)
    if not at_places:
        return None
    if is_exact:
        return verdict.estimate_of_places([v[0] for v in at_places], row.kind == "check")
    average = verdict.geometric if row.kind == "check" else mean
    return verdict.estimate_of_rounds([average(v) for v in zip(*at_places)])


def _unmet(data, row):
    """What a counter says against the row; None: nothing."""
    for label, counter, least in row.needs:
        count = data.counts.get((label, counter))
        if count is None:
            return f"{label} was not counted"
        if count < least:
            return f"{label}: {number(count)} of \"{counter}\" a message, not {number(least)}"
    return None


def _method(one, row, n_rounds):
    provider = one.words["provider"]
    if one.is_modelled():
        over = "; ".join(dict.fromkeys(one.models.values()))
        provider = f"modelled, {over}"
    if row.kind == "tally":
        return f"counted{'' if one.counts[0][0] == 0 else ' for a message'}, {provider}"
    return f"virtual time, {provider}" if one.is_modelled() else f"measured, {provider}, {n_rounds} rounds"


def _outcome(one, data, row, machine):
    is_timed = row.kind in ("check", "extra") and not one.is_modelled()
    method = _method(one, row, machine.n_rounds)
    if row.kind == "tally":
        count = data.counts.get((row.a[0], row.counter))
        estimate = None if count is None else verdict.Estimate(count, count, count, True)
    else:
        estimate = _estimate(data, row, one.is_modelled())
    if estimate is None:
        why = verdict.why_no_verdict(is_timed, machine.load, machine.n_cores, data.others, None)
        why = data.notes[0] if data.notes else why or "nothing was measured"
        return Outcome(one, row, method, row.claim.text, None, verdict.NONE, why, is_timed)
    why = verdict.why_no_verdict(is_timed, machine.load, machine.n_cores, data.others, _unmet(data, row))
    if not why and is_timed and machine.n_rounds < 2:
        why = "one round has no interval"
    if why:
        word, note = verdict.NONE, why
    elif row.kind == "tally":
        word, note = verdict.judge_count(estimate.value, row.claim)
    else:
        word, note = verdict.judge(estimate, row.claim)
    return Outcome(one, row, method, row.claim.text, estimate, word, note, is_timed)


@dataclass
class Machine:
    """Where and how it ran."""
    load: float
    n_cores: int
    n_rounds: int


def of_experiment(one, data, machine):
    """An Outcome for each of its rows."""
    outcomes = []
    for row in one.rows:
        if row.kind == "unasked":
            outcomes.append(Outcome(one, row, "", row.said, None, verdict.NONE, row.because, False))
        else:
            outcomes.append(_outcome(one, data, row, machine))
    return outcomes
