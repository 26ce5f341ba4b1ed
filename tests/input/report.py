"""Statistics, verdicts, figures and the page of scripts/datum_report, and the tables of bench/report.py, on made-up data."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import random
import re
import tempfile
import unittest
import xml.dom.minidom

from datum_report import compare_report, jobs, page, stats, svg, verdict


def cells(test, group, unit, of_size):
    """Cells of a test: size -> values of the rounds."""
    return {(test, size): stats.Cell(test, group, unit, size, list(values), min(values), 1.0)
            for size, values in of_size.items()}


def noisy(seed, middle, width, n=5):
    """Rounds around a figure."""
    rng = random.Random(seed)
    return [middle * rng.uniform(1 - width, 1 + width) for _ in range(n)]


def load_script(name):
    """A script of the sources as a module."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..', name)
    loader = importlib.machinery.SourceFileLoader(os.path.basename(name).replace('-', '_'), path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Statistics(unittest.TestCase):
    """stats.py"""

    def test_median(self):
        self.assertEqual(stats.median([3, 1, 2]), 2)
        self.assertEqual(stats.median([4, 1, 2, 3]), 2.5)

    def test_coverage(self):
        self.assertAlmostEqual(stats.coverage(5, 0), 1 - 2 / 32)
        self.assertAlmostEqual(stats.coverage(9, 1), 1 - 2 * 10 / 512)

    def test_interval(self):
        self.assertEqual(stats.interval([5]), (5, 5))
        self.assertEqual(stats.interval([1, 9, 2, 8, 5]), (1, 9))
        self.assertEqual(stats.interval(range(9)), (1, 7))  # 96.1 %
        self.assertEqual(stats.interval(range(8)), (0, 7))  # without the ends 93 %

    def test_interval_covers(self):
        rng = random.Random(1)
        hits = 0
        for _ in range(2000):
            low, high = stats.interval([rng.expovariate(1) for _ in range(11)])
            hits += low <= 0.6931 <= high
        self.assertGreater(hits, 0.94 * 2000)

    def test_compare_is_better_above_one(self):
        for unit, ours, theirs in (('us', [1, 1], [2, 2]), ('MB/s', [2, 2], [1, 1]), ('1/s', [2, 2], [1, 1]),
                                   ('MiB', [1, 1], [2, 2])):
            self.assertAlmostEqual(stats.compare(unit, ours, theirs).median, 2, msg=unit)
        self.assertGreater(stats.compare('%', [90, 90], [0, 0]).median, 1.8)

    def test_drift_of_the_machine_is_no_noise(self):
        """Both become slower by turns: the ratio of each round is the same."""
        ratio = stats.compare('us', [1, 2, 4, 8, 16], [2, 4, 8, 16, 32])
        self.assertEqual((ratio.low, ratio.high), (2, 2))

    def test_ahead(self):
        self.assertTrue(stats.is_ahead(stats.ratio_of([1.2] * 5)))
        self.assertFalse(stats.is_ahead(stats.ratio_of([1.2] * 4)), 'few rounds')
        self.assertFalse(stats.is_ahead(stats.ratio_of([1.04] * 5)), 'within the margin')
        self.assertFalse(stats.is_ahead(stats.ratio_of([2, 2, 2, 2, 0.9])), 'one round says otherwise')
        self.assertFalse(stats.is_ahead(stats.Ratio(1.5, 1.06, 1.6, (1.5, 1.0) * 5)), 'even rounds say otherwise')
        self.assertTrue(stats.is_ahead(stats.ratio_of([1.03] * 9), 1.02))


class Verdicts(unittest.TestCase):
    """verdict.py"""

    def two(self, ours, theirs, **more):
        return dict({'a': cells('latency', 'pt2pt', 'us', ours), 'b': cells('latency', 'pt2pt', 'us', theirs)}, **more)

    def test_families(self):
        names = [verdict.family_of(stats.Cell('t', group, 'us', size, [1], 1, None))
                 for group, size in (('pt2pt', 8), ('pt2pt', 8192), ('pt2pt', 16384), ('onesided', 8), ('coll', 1 << 20),
                                     ('start', 0), ('memory', 0))]
        self.assertEqual(names, ['small', 'small', 'large', 'onesided', 'coll', 'start', 'memory'])

    def test_winner(self):
        table = self.two({8: noisy(1, 1, .02), 64: noisy(2, 1, .02)}, {8: noisy(3, 2, .02), 64: noisy(4, 2, .02)})
        found = verdict.judge(table, 'small')
        self.assertEqual((found['first'], found['tied'], found['best']), ('a', [], {'a': [('latency', 8), ('latency', 64)]}))
        self.assertRegex(verdict.words(found), r'^a is first, in 2 of 2 figures; b takes (1\.9|2\.0)\d \(.* to .*\) times as long$')

    def test_no_difference(self):
        table = self.two({8: noisy(1, 1, .3)}, {8: noisy(2, 1.02, .3)}, c=cells('latency', 'pt2pt', 'us', {8: noisy(3, 9, .1)}))
        found = verdict.judge(table, 'small')
        self.assertIsNone(found['first'])
        self.assertRegex(verdict.words(found), r'^no difference beyond noise between . and .; c takes .* times as long as .$')
        self.assertIsNone(verdict.first_of(table, ('latency', 8)))

    def test_first_on_the_whole_but_not_everywhere(self):
        table = self.two({8: [1] * 5, 64: [1] * 5, 512: [3] * 5}, {8: [4] * 5, 64: [4] * 5, 512: [1] * 5})
        self.assertRegex(verdict.words(verdict.judge(table, 'small')),
                         r'^a is first, in 2 of 3 figures; .*; b is first in 1 of 3: latency 512 B$')

    def test_who_leads_in_no_figure(self):
        """Each figure by itself is noise in one round, the mean is not."""
        table = self.two({8: [1] * 5, 64: [1] * 5}, {8: [1.9, 1.9, 1.9, 1.9, 1], 64: [1, 1.9, 1.9, 1.9, 1.9]})
        found = verdict.judge(table, 'small')
        self.assertEqual((found['first'], found['leader'], found['tied'], found['best']), (None, 'a', [], {}))
        self.assertIn('nobody is first: a leads on the whole', verdict.words(found))

    def test_rates(self):
        table = {'a': cells('bw', 'pt2pt', 'MB/s', {65536: [900] * 5}), 'b': cells('bw', 'pt2pt', 'MB/s', {65536: [300] * 5})}
        self.assertEqual(verdict.judge(table, 'large')['first'], 'a')

    def test_memory_words(self):
        table = {'a': cells('pss', 'memory', 'MiB', {0: [4] * 5}), 'b': cells('pss', 'memory', 'MiB', {0: [6] * 5})}
        self.assertEqual(verdict.words(verdict.judge(table, 'memory')), 'a is first; b takes 1.50 (1.50 to 1.50) times as much')

    def test_what_cannot_be_compared(self):
        one = {'a': cells('latency', 'pt2pt', 'us', {8: [1] * 5})}
        self.assertIsNone(verdict.judge(one, 'small'))
        self.assertIsNone(verdict.judge(self.two({8: [1] * 5}, {16: [1] * 5}), 'small'))
        self.assertIsNone(verdict.judge(self.two({8: [1] * 5}, {8: [2] * 5}), 'coll'))
        found = verdict.judge(self.two({8: [1]}, {8: [2]}), 'small')
        self.assertIn('rounds say nothing', verdict.words(found))
        self.assertIsNone(found['first'])

    def test_the_same_when_run_twice(self):
        """Noise of 30 %, no difference: in 300 pairs of runs nobody is first in both of one and the other; and where
        there is a difference of two the winner is the same always."""
        def first(seed, factor):
            sizes = (8, 64, 512, 4096)
            table = self.two({size: noisy(seed + size, 1, .3) for size in sizes},
                             {size: noisy(seed - size, factor, .3) for size in sizes})
            return verdict.judge(table, 'small')['first']
        equal = [(first(10**6 + i, 1), first(10**7 + i, 1)) for i in range(300)]
        self.assertLess(sum(name is not None for pair in equal for name in pair), 0.02 * 600)
        self.assertFalse([pair for pair in equal if None not in pair and pair[0] != pair[1]])
        self.assertEqual({first(10**6 + i, 2.5) for i in range(300)}, {'a'})


class Curves(unittest.TestCase):
    """svg.py"""

    def test_chart(self):
        text = svg.chart('a < b', 'bytes', 'us', [('x & y', 0, [(8, 1, .9, 1.1), (64, 2, 1.9, 2.1)]), ('alone', 1, [(8, 1, 1, 1)])])
        tree = xml.dom.minidom.parseString(text)
        self.assertEqual(len(tree.getElementsByTagName('circle')), 2)
        self.assertIn('x & y', [node.firstChild.data for node in tree.getElementsByTagName('text')])
        box = [float(word) for word in tree.getElementsByTagName('svg')[0].getAttribute('viewBox').split()]
        for node in tree.getElementsByTagName('circle'):
            self.assertTrue(svg.LEFT <= float(node.getAttribute('cx')) <= box[2])
            self.assertTrue(svg.TOP <= float(node.getAttribute('cy')) <= svg.TOP + svg.PLOT_HEIGHT)

    def test_nothing_to_draw(self):
        self.assertEqual(svg.chart('t', 'x', 'y', [('a', 0, [(8, 1, 1, 1)])]), '')
        self.assertEqual(svg.chart('t', 'x', 'y', [('a', 0, [(0, 1, 1, 1), (8, 0, 0, 0)])]), '')

    def test_ticks_enclose(self):
        for low, high in ((1, 1), (0.3, 0.4), (3, 80), (0.02, 90000), (999, 1001), (5, 5.01)):
            ticks = svg.y_ticks(low, high)
            self.assertTrue(ticks[0] <= low * 1.001 and ticks[-1] >= high * 0.999, (low, high, ticks))
            self.assertTrue(2 <= len(ticks) <= 10, ticks)


def made_report(factor=1.0, names=('datum over p', 'mpich')):
    """A report of two sources, and its tables."""
    table = {name: {**cells('latency', 'pt2pt', 'us', {8: [factor * k] * 5, 64: [factor * k * 2] * 5}),
                    **cells('start', 'start', 'ms', {0: [factor * k * 10] * 5})}
             for k, name in enumerate(names, 1)}
    raw = {'p': {('raw_write', 8): stats.Cell('raw_write', 'raw', 'us', 8, [.5], .5, None)}}
    report = {'format': 1, 'program': 'datum-compare', 'version': '1', 'time': 'now', 'ranks': 2, 'rounds': 5, 'options': '--quick',
              'machine': {'host': 'h', 'processor': 'cpu', 'cores': 2, 'memory': '1 GiB', 'system': 's', 'load': 0.0}, 'settings': {},
              'sources': [{'name': name, 'library': 'lib <1>', 'provider': 'p' if name[:5] == 'datum' else ''} for name in names]}
    compare_report.add_results(report, table, raw)
    return report, table, raw


class Page(unittest.TestCase):
    """page.py"""

    def test_order_and_marks(self):
        report, table, raw = made_report()
        text = page.page(report, table, raw, {'latency': 'half a round trip'}, 'none & all')
        places = [text.index(words) for words in ('Machine and settings', '<h2>Verdict', 'Point-to-point', 'Start-up', 'none &amp; all',
                                                  '</html>')]
        self.assertEqual(places, sorted(places))
        self.assertEqual(text.count('<td class="best">&#9733; 1<small>1 to 1</small></td>'), 1)
        self.assertIn('lib &lt;1&gt;', text)
        self.assertIn('half a round trip', text)
        self.assertIn('<td>MPI message over a DAT write, us</td><td>8</td><td>0.5</td><td>1</td><td>+100 %</td>', text)
        self.assertEqual(text.count('<svg'), text.count('</svg>'))
        self.assertFalse(re.search(r'(src|href)=|<script', text))

    def test_names_are_no_html(self):
        text = page.page(*made_report(names=('datum over <b>', "x'\"&")), {}, '')
        self.assertNotIn('<b>', text)
        self.assertIn('datum over &lt;b&gt;', text)

    def test_one_source(self):
        report, table, raw = made_report(names=('datum over p',))
        self.assertIn('nothing to compare', page.page(report, table, raw, {}, ''))
        self.assertIn('nothing to compare', compare_report.verdict_text(report))


class Results(unittest.TestCase):
    """compare_report.py"""

    def test_rounds(self):
        said = {'pss': 2 << 20, 'results': [{'test': 'bw', 'group': 'pt2pt', 'unit': 'MB/s', 'size': 8, 'median': 5, 'min': 4, 'max': 7,
                                            'cpu': 1}]}
        rounds = [compare_report.round_of(said, [30, 10, 20])] * 2
        made = compare_report.cells_of(rounds)
        self.assertEqual((made['bw', 8].values, made['bw', 8].best), ([5, 5], 7))
        self.assertEqual((made['start', 0].values, made['pss', 0].values), ([20, 20], [2, 2]))

    def test_raw(self):
        item = lambda value: {'result': 'value', 'value': value}
        said = {'probes': {'a': {'items': {'latency_64k': item(2), 'write_1m': item(3), 'wakeup_10ms': item(4), 'wakeup_100us': item(5),
                                           'latency_8': {'result': 'not tested'}, 'max_send': item(9)}}}}
        made = {key: cell.values[0] for key, cell in compare_report.raw_cells(said).items()}
        self.assertEqual(made, {('raw_write', 65536): 2, ('raw_write_bw', 1 << 20): 3000, ('raw_wakeup', 10000): 4, ('raw_wakeup', 100): 5})

    def test_json(self):
        self.assertEqual(json.loads(compare_report.json_text(made_report()[0]))['verdicts'][0]['first'], 'datum over p')

    def diff(self, old, new):
        """Status and what is printed of two reports."""
        with tempfile.TemporaryDirectory() as tmp:
            for name, report in (('old', old), ('new', new)):
                os.mkdir(os.path.join(tmp, name))
                jobs.write_whole(os.path.join(tmp, name, 'results.json'), compare_report.json_text(report))
            with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
                status = compare_report.diff(os.path.join(tmp, 'old'), os.path.join(tmp, 'new'), False)
        return status, out.getvalue(), err.getvalue()

    def test_diff(self):
        one, slow = made_report()[0], made_report(2.0)[0]
        status, out, _ = self.diff(one, one)
        self.assertEqual(status, 0)
        self.assertIn('small messages: datum over p is first, as before', out)
        self.assertRegex(out, '7 figures compared, 0 slower')
        status, out, _ = self.diff(one, slow)
        self.assertEqual(status, 1)
        self.assertRegex(out, r'slower +mpich +latency +64 +4 -> 8 +us  x 0\.50')
        self.assertEqual(self.diff(slow, one)[0], 0)
        turned = made_report(names=('mpich', 'datum over p'))[0]
        self.assertIn('mpich is first, where datum over p was', self.diff(one, turned)[1])
        wide = made_report(2.0)[0]
        for entry in wide['results']:
            entry['low'] = 0.1
        self.assertIn(' 0 slower', self.diff(one, wide)[1])
        slow['machine']['host'] = 'elsewhere'
        self.assertIn('not measured alike: "host h" and "host elsewhere"', self.diff(one, slow)[2])

    def test_diff_of_nothing(self):
        one, other = made_report()[0], made_report(names=('x', 'y'))[0]
        other['raw'] = []
        with self.assertRaisesRegex(compare_report.NoReport, 'no figure in common'):
            self.diff(one, other)
        with self.assertRaisesRegex(compare_report.NoReport, 'no results.json'):
            compare_report.diff('/no/such', '/no/such', False)


class BenchDiff(unittest.TestCase):
    """bench-diff"""

    def rounds(self, values):
        return [{('latency', 8): {'median': value, 'unit': 'us'}, ('bw', 8): {'median': 100, 'unit': 'MB/s'}} for value in values]

    def test_rows(self):
        script = load_script('scripts/bench-diff')
        rows = script.rows_of(self.rounds([2, 2.1, 1.9] * 3), self.rounds([1, 1.05, .95] * 3))
        self.assertEqual([(row['test'], row['change']) for row in rows], [('latency', 'faster'), ('bw', 'same')])
        self.assertAlmostEqual(rows[0]['ratio'], 2)
        text = script.table_text(rows, False)
        self.assertRegex(text, r'faster latency 8 B +2 -> 1 +us +x 2\.000 \(2\.000 to 2\.000\)\n1 faster, 0 slower, 1 without')
        self.assertEqual(script.rows_of(self.rounds([1] * 9), self.rounds([1.5] * 9))[0]['change'], 'slower')
        for values in ([1.5] * 8 + [.9], [.5] * 8 + [1.1], [.5] * 7):
            rows = script.rows_of(self.rounds([1] * 9), self.rounds(values))
            self.assertEqual(rows[0]['change'], 'same', values)
        self.assertIn('--rounds', script.table_text(rows, False, True))

    def test_noise_is_no_change(self):
        """100 pairs of builds that are the same, with noise of 20 %."""
        script = load_script('scripts/bench-diff')
        rows = [script.rows_of(self.rounds(noisy(i, 1, .2, 9)), self.rounds(noisy(-i - 1, 1, .2, 9)))[0] for i in range(100)]
        self.assertLess(sum(row['change'] != 'same' for row in rows), 3)


class Tables(unittest.TestCase):
    """bench/report.py"""

    def table(self, name, lines, *options):
        """What is printed of raw lines."""
        script = load_script('bench/report.py')
        with tempfile.NamedTemporaryFile('w') as file, contextlib.redirect_stdout(io.StringIO()) as out:
            file.write('\n'.join(lines) + '\n')
            file.flush()
            getattr(script, 'table_' + name)(file.name, *options)
        return out.getvalue()

    def test_compare(self):
        lines = ['floor floor 64 0.1', 'dat write 8 us 0.5'] + [
            f'{who} {what} 8 {value} 1' for what, of in (('latency', {'datum': (1, 3, 2), 'mpich': (4, 4, 4), 'socket': (10, 10, 10)}),
                                                        ('bandwidth', {'datum': (300,), 'mpich': (100,), 'openmpi': (200,)}))
            for who, values in of.items() for value in values]
        text = self.table('compare', lines)
        self.assertIn('per round: 0.1\nraw DAT write ', text)
        self.assertRegex(text, r'latency, us per half round trip.*\n.*\n +8 +2\.000 \[ 1\.000  3\.000\].*2\.00x the better peer, 5\.00x the socket\n')
        self.assertRegex(text, r'bandwidth, MB/s one way.*\n +bytes.*\n +8 .*1\.50x the better peer\n')
        self.assertRegex(self.table('compare', lines, 'threads'), r'\n  threads ')

    def test_local(self):
        lines = [f'{who} {what} {value}' for who, values in (('datum', (2, 1)), ('mpich', (5, 4)), ('openmpi', (.5, 3)))
                 for value in values for what in ('info', 'keyval')] + ['datum wtime 1', 'mpich wtime 1']
        text = self.table('local', lines)
        self.assertRegex(text, r'\ninfo +1 +4 +0\.5 +0\.50x\n')
        self.assertRegex(text, r'\nwtime +1 +1 +- +1\.00x\n')
        self.assertIn('0.50x, the median over the rows; at least as fast in 1 of 3\n', text)

    def test_coll(self):
        lines = [f'time {who} 2 bcast 8 {value} {value - 1} 99 5' for who, values in (('datum', (2, 4, 3)), ('mpich', (6, 6, 6)))
                 for value in values] + ['overlap datum 2 bcast 8 50 0 0', 'note time openmpi 2 bcast too slow 3']
        text = self.table('coll', lines)
        self.assertRegex(text, r'\n +8 +3\.0 \[ +1\.0 +4\.0\] +6\.0 \[ +5\.0 +6\.0\] +too slow  2\.00x')
        self.assertRegex(text, r'ibcast, 2 ranks +8 +50 % +- +-\n')
        self.assertIn('   2 ranks   2.00x, by the least times 5.00x, at least as fast in 1 of 1\nbcast ', text)
        self.assertIn('openmpi, 2 ranks, bcast (time): too slow\n', text)

    def test_apps_and_hits(self):
        lines = [f'cg\t2\t{who}\t{value}\t{value / 2}\t{value * 2}' for who, value in (('datum', .01), ('datum x', .005), ('mpich', .02))]
        text = self.table('apps', lines + ['ft\t2\tmpich\tnote\tfailed'])
        self.assertRegex(text, r'datum +10\.00 +5\.00 +20\.00 +2\.00x +2\.00x\ndatum x +5\.00 +2\.50 +10\.00 +4\.00x +4\.00x +2\.00x\n')
        self.assertIn('mpich    failed\n', text)
        self.assertRegex(self.table('hits', ['cg\t2\tdatum x=1\t1\t3\t2048', 'ft\t2\tdatum y\tnote\tno']),
                         r'cg +2 +1 +3 +75\.0% +2   x=1\nft +2   y: no\n')

    def test_io_datatype_start(self):
        text = self.table('io', ['datum 2 open 8 time 2 1', 'ompio 2 open 8 time 3 1', 'note what failed'])
        self.assertRegex(text, r'    2 open +8 time +2\.0 \[.*1\.50x\n\nTo the best peer .* 1\.50x.* 1 of 1\nwhat failed\n')
        text = self.table('datatype', ['datum pack vector 10', 'datum pack vector 30', 'mpich pack vector 20', 'datum hand_pack vector 15',
                                       'mpich wrong vector'])
        self.assertRegex(text, r'mpich packs vector wrongly\n\npack.*\n.*\nvector +30 +20 +0 +15 +1\.50x +2\.00x\n')
        text = self.table('start', ['datum spawn 1 1000', 'mpich spawn 1 2000', 'openmpi spawn 1 500'])
        self.assertRegex(text, r'spawn +1\.00 +2\.00 +0\.50   2\.00 \(2\.00 to 2\.00\)\n')

    def test_dat(self):
        lines = ['write_pingpong 8 us 1.5 line 1.0', 'copy 2048 MB/s 50 memcpy 100', 'zero 8 us 0 x 0']
        text = self.table('dat', lines)
        self.assertRegex(text, r'write_pingpong +8 B us .* 1\.50  aim 1\.30: MISSED\n')
        self.assertRegex(text, r'copy +2 KiB MB/s .* 2\.00\n')
        self.assertIn('aims: 0 met, 1 missed', text)
        with self.assertRaises(SystemExit):
            self.table('dat', lines, '1')


if __name__ == '__main__':
    unittest.main()
