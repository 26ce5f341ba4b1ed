"""bench/reproduce without a build: claims, intervals, verdicts, and from made-up samples to a row."""
import math
import random
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv.pop())
import measure  # noqa: E402
import outcomes  # noqa: E402
import report  # noqa: E402
import stanzas  # noqa: E402
import verdict  # noqa: E402
from verdict import HOLDS, NONE, NOT, PARTLY  # noqa: E402

QUIET = outcomes.Machine(0.5, 2, 3)
STANZA = """
paper p
cite Somebody: Something, 2004
experiment one
title T
where 1
claim something
provider datum-shm
test latency 8:64
series a
series b EAGER=basic
count 10 8 sends
check a b 8:64 2 twice as long
because nobody knows
"""


def experiment(tmp, text=STANZA):
    """The only experiment of a text."""
    with open(tmp, "w", encoding="utf-8") as file:
        file.write(text)
    return stanzas.read(tmp)[1][0]


def data_of(a, b, others=0.0):
    """Rounds of two series at two places; the second place has the same ratios."""
    data = measure.Data(others=others)
    for label, values in (("a", a), ("b", b)):
        for value in values:
            data.add(label, 8, measure.Sample(value, value))
            data.add(label, 64, measure.Sample(10 * value, 10 * value))
    return data


class Claims(unittest.TestCase):
    def test_words(self):
        for text, kind, value in (("2.5", "effect", 2.5), ("~0.98", "alike", 0.98), ("<1", "less", 1),
                                  (">1", "more", 1), ("<=1.3", "most", 1.3), (">=0.6", "least", 0.6)):
            self.assertEqual(verdict.parse_claim(text)[:2], (kind, value))

    def test_nonsense(self):
        for text in ("", "twice", "2.5x", "<2", "-1", "~", "1e3", "nan"):
            self.assertRaises(ValueError, verdict.parse_claim, text)

    def test_no_effect(self):
        self.assertFalse(verdict.is_effect(verdict.parse_claim("1.02")))
        self.assertTrue(verdict.is_effect(verdict.parse_claim("0.9")))


class Intervals(unittest.TestCase):
    def test_order_statistics(self):
        self.assertEqual(verdict.median_interval([3])[:2], (3, 3))
        self.assertEqual(verdict.median_interval([5, 1, 3])[:2], (1, 5))  # all there is
        low, high, coverage = verdict.median_interval(range(9))
        self.assertEqual((low, high), (1, 7))  # the second and the eighth
        self.assertAlmostEqual(coverage, 1 - 2 * (1 + 9) / 2 ** 9)
        self.assertLess(verdict.median_interval(range(5))[2], 0.95)
        self.assertGreaterEqual(verdict.median_interval(range(6))[2], 0.95)

    def test_it_covers(self):
        """Of a skewed distribution, as times are: 95 % and not much more."""
        draw = random.Random(1)
        n_in = 0
        for _ in range(2000):
            low, high, _ = verdict.median_interval([draw.lognormvariate(0, 1) for _ in range(15)])
            n_in += low <= 1 <= high
        self.assertGreater(n_in / 2000, 0.94)
        self.assertLess(n_in / 2000, 0.99)

    def test_one_outlier(self):
        e = verdict.estimate_of_rounds([2, 2.1, 2, 1.9, 2, 2.1, 2, 2, 50])
        self.assertEqual(e.value, 2)
        self.assertLess(e.high, 2.2)

    def test_places(self):
        e = verdict.estimate_of_places([2, 8])
        self.assertAlmostEqual(e.value, 4)
        self.assertEqual((e.low, e.high, e.is_exact), (2, 8, True))


class Verdicts(unittest.TestCase):
    def word(self, claim, value, low=None, high=None, is_exact=False):
        """Of an estimate; no interval: a point."""
        e = verdict.Estimate(value, value if low is None else low, value if high is None else high, is_exact)
        return verdict.judge(e, verdict.parse_claim(claim))[0]

    def test_effect(self):
        self.assertEqual(self.word("2.5", 2.4, 2.2, 2.6), HOLDS)
        self.assertEqual(self.word("2.5", 1.6, 1.5, 1.7), HOLDS)  # half of the logarithm
        self.assertEqual(self.word("2.5", 1.34, 1.3, 1.4), PARTLY)
        self.assertEqual(self.word("2.5", 62, 60, 65), PARTLY)  # far more is not what was claimed
        self.assertEqual(self.word("2.5", 1.05, 1.04, 1.06), NOT)  # hardly anything of it
        self.assertEqual(self.word("2.5", 1.0, 0.9, 1.1), NOT)
        self.assertEqual(self.word("2.5", 0.5, 0.4, 0.6), NOT)
        self.assertEqual(self.word("2.5", 1.5, 0.9, 2.5), NONE)  # too wide to tell
        self.assertEqual(self.word("2.5", 1.5, 0.9, 2.5, True), PARTLY)  # not at all places

    def test_effect_downwards(self):
        """What holds of a ratio holds of its inverse."""
        draw = random.Random(2)
        for _ in range(500):
            claim, value = math.exp(draw.uniform(0.1, 2)), math.exp(draw.uniform(-1, 2))
            wide = math.exp(draw.uniform(0, 0.5))
            is_exact = draw.random() < 0.5
            up = verdict.judge(verdict.Estimate(value, value / wide, value * wide, is_exact),
                               verdict.Claim("effect", claim, ""))
            down = verdict.judge(verdict.Estimate(1 / value, 1 / value / wide, 1 / value * wide, is_exact),
                                 verdict.Claim("effect", 1 / claim, ""))
            self.assertEqual(up, down)

    def test_direction(self):
        self.assertEqual(self.word(">1", 1.3, 1.2, 1.4), HOLDS)
        self.assertEqual(self.word(">1", 1.1, 1.01, 1.2), HOLDS)
        self.assertEqual(self.word(">1", 1.03, 1.02, 1.04), PARTLY)
        self.assertEqual(self.word(">1", 1.005, 1.004, 1.006), NOT)  # hardly anything
        self.assertEqual(self.word(">1", 1.1, 1.0, 1.2, True), PARTLY)  # not at all places
        self.assertEqual(self.word(">1", 1.0, 1.0, 1.0), NOT)
        self.assertEqual(self.word(">1", 0.8, 0.7, 0.9), NOT)
        self.assertEqual(self.word(">1", 1.2, 0.9, 1.5), NONE)
        self.assertEqual(self.word("<1", 0.7, 0.6, 0.8), HOLDS)
        self.assertEqual(self.word("<1", 1.2, 1.1, 1.3), NOT)

    def test_alike(self):
        self.assertEqual(self.word("~1", 1.02, 0.95, 1.08), HOLDS)
        self.assertEqual(self.word("~0.985", 0.97, 0.96, 0.98), HOLDS)
        self.assertEqual(self.word("~1", 1.3, 1.2, 1.4), NOT)
        self.assertEqual(self.word("~1", 1.05, 0.95, 1.2), NONE)
        self.assertEqual(self.word("~1", 1.05, 0.95, 1.2, True), PARTLY)

    def test_bounds(self):
        self.assertEqual(self.word("<=1.3", 1.2, 1.1, 1.3), HOLDS)
        self.assertEqual(self.word("<=1.3", 1.4, 1.35, 1.5), NOT)
        self.assertEqual(self.word("<=1.3", 1.3, 1.2, 1.4), NONE)
        self.assertEqual(self.word(">=0.6", 0.7, 0.65, 0.8), HOLDS)
        self.assertEqual(self.word(">=0.6", 0.5, 0.4, 0.55), NOT)
        self.assertEqual(self.word("<=0.5", -0.1, -0.2, 0.1), HOLDS)  # a difference may be negative

    def test_counts(self):
        for claim, value, want in (("3", 3.0, HOLDS), ("3", 3.02, HOLDS), ("3", 2.0, NOT), ("0", 0, HOLDS),
                                   ("0", 1, NOT), ("<=40", 40, HOLDS), ("<=40", 64, NOT), (">=1", 7, HOLDS)):
            self.assertEqual(verdict.judge_count(value, verdict.parse_claim(claim))[0], want, (claim, value))

    def test_no_verdict(self):
        self.assertIsNone(verdict.why_no_verdict(True, 0.3, 2, 0.0, None))
        self.assertIn("load 2.0 on 2 cores", verdict.why_no_verdict(True, 2.0, 2, 0.0, None))
        self.assertIn("45%", verdict.why_no_verdict(True, 0.3, 2, 0.45, None))
        self.assertIsNone(verdict.why_no_verdict(False, 30, 2, 1.5, None))  # virtual time does not care
        self.assertIn("contradict", verdict.why_no_verdict(False, 0, 2, 0, "x: 0.00 of y"))


class Rows(unittest.TestCase):
    TMP = "stanza"

    def only(self, data, machine=QUIET, text=STANZA):
        """The outcome of the only row."""
        return outcomes.of_experiment(experiment(self.TMP, text), data, machine)[0]

    def test_by_turns(self):
        """A machine that gets slower during the rounds changes no ratio: they are taken round by round."""
        o = self.only(data_of([2, 4, 8], [1, 2, 4]))
        self.assertEqual(o.word, HOLDS)
        self.assertAlmostEqual(o.estimate.value, 2)
        self.assertAlmostEqual(o.estimate.high, 2)
        self.assertEqual(o.ours(), "2.00")

    def test_interval(self):
        o = self.only(data_of([1.8, 2.2, 2.0], [1, 1, 1]))
        self.assertEqual(o.ours(), "2.00 [1.80, 2.20]")

    def test_load(self):
        busy = outcomes.Machine(4.0, 2, 3)
        o = self.only(data_of([2, 2, 2], [1, 1, 1]), busy)
        self.assertEqual((o.word, report.is_withheld(o)), (NONE, True))
        self.assertNotIn("2.00", report.row_of(o, True))
        self.assertIn("2.00", report.row_of(o, False))
        modelled = STANZA.replace("datum-shm", "modelled").replace("title", "model preset=t3b\ntitle")
        self.assertEqual(self.only(data_of([2], [1]), busy, modelled).word, HOLDS)
        self.assertEqual(self.only(data_of([2, 2], [1, 1], others=0.5)).word, NONE)

    def test_needs(self):
        text = STANZA + "needs a | sends | 0.5\n"
        data = data_of([2, 2, 2], [1, 1, 1])
        self.assertIn("not counted", self.only(data, text=text).verdict())
        data.counts["a", "sends"] = 0.0
        self.assertIn("counters contradict: a: 0.00 of \"sends\"", self.only(data, text=text).verdict())
        data.counts["a", "sends"] = 1.0
        self.assertEqual(self.only(data, text=text).word, HOLDS)

    def test_because(self):
        self.assertIn("nobody knows", self.only(data_of([1, 1, 1], [1, 1, 1])).verdict())
        self.assertNotIn("nobody knows", self.only(data_of([2, 2, 2], [1, 1, 1])).verdict())

    def test_places(self):
        at = STANZA.replace("check a b 8:64 2", "check a@64 a@8 - 10")
        self.assertEqual(self.only(data_of([2, 2, 2], [1, 1, 1]), text=at).ours(), "10.0")
        part = STANZA.replace("check a b 8:64 2", "check a b 16:32 2")
        self.assertEqual(self.only(data_of([2, 2, 2], [1, 1, 1]), text=part).word, NONE)

    def test_known(self):
        """What is known of the network is one figure for all rounds."""
        data = data_of([3, 4, 5], [])
        data.add("b", 8, measure.Sample(2, 2))
        self.assertEqual(self.only(data).ours(), "2.00 [1.50, 2.50]")

    def test_extra_and_tally(self):
        text = STANZA.replace("check a b 8:64 2 twice", "extra a b 8:8 <=0.5 half a us")
        self.assertEqual(self.only(data_of([1.4, 1.4, 1.4], [1, 1, 1]), text=text).word, HOLDS)
        text = STANZA.replace("check a b 8:64 2 twice as long", "tally a | sends | 1 | one")
        data = data_of([], [])
        self.assertEqual(self.only(data, text=text).word, NONE)
        data.counts["a", "sends"] = 1.0
        busy = outcomes.Machine(40.0, 2, 3)
        self.assertEqual(self.only(data, busy, text).word, HOLDS)

    def test_counters_of_a_job(self):
        said = ("datum: statistics                            least           mean           most  (2 processes)\n"
                "datum: copies into rings                       20           20.5             21 \n"
                "datum:   in all                               800          820.0            840 bytes\n"
                "datum: for each of 41 messages, whatever else there was:\n"
                "datum:   copies into rings                           1.00\n")
        counts = measure.counters_of(said)
        self.assertEqual(counts["copies into rings"], 20.5)
        self.assertEqual(counts["copies into rings: in all"], 820.0)


unittest.main(verbosity=0)
