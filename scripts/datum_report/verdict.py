"""Who is first, in words: for each family of tests, and for each test and size.

A table is a dict: the source's name -> (test, size) -> stats.Cell."""
import math

from datum_report import stats

SMALL_MOST = 8192  # bytes of a small message

# Their order is that of the report: key, title, what others take more of.
FAMILIES = (
    ('small', 'small messages', 'as long'),
    ('large', 'large messages', 'as long'),
    ('onesided', 'one-sided', 'as long'),
    ('coll', 'collectives', 'as long'),
    ('overlap', 'overlap', 'as long'),
    ('start', 'start-up', 'as long'),
    ('memory', 'memory', 'as much'),
)


def family_of(cell):
    """The key of the family that a figure belongs to."""
    if cell.group == 'pt2pt':
        return 'small' if cell.size <= SMALL_MOST else 'large'
    return cell.group


def size_name(size):
    """Bytes, short: 64 KiB."""
    for unit, name in ((1 << 30, 'GiB'), (1 << 20, 'MiB'), (1 << 10, 'KiB')):
        if size >= unit and size % unit == 0:
            return f'{size // unit} {name}'
    return f'{size} B'


def cell_name(key):
    """A test and its size; some have none."""
    return f'{key[0]} {size_name(key[1])}' if key[1] else key[0]


def first_of(table, key):
    """The source that is ahead of each other at this test and size beyond noise, or None."""
    there = [name for name in table if key in table[name]]
    if len(there) < 2:
        return None
    unit = table[there[0]][key].unit
    leader = min(there, key=lambda name: stats.cost(unit, stats.median(table[name][key].values)))
    ours = table[leader][key].values
    is_first = all(stats.is_ahead(stats.compare(unit, ours, table[name][key].values)) for name in there
                   if name != leader)
    return leader if is_first else None


def common_keys(table, family):
    """The figures of a family that every source has, in the order of the first."""
    first = next(iter(table.values()))
    return [key for key, cell in first.items()
            if family_of(cell) == family and all(key in cells for cells in table.values())]


def round_costs(cells, keys):
    """For each round the logarithm of the geometric mean of the costs."""
    n_rounds = min(len(cells[key].values) for key in keys)
    return [sum(math.log(stats.cost(cells[key].unit, cells[key].values[i])) for key in keys) / len(keys)
            for i in range(n_rounds)]


def best_counts(table, keys):
    """Who is first at which of the figures: source -> keys; those without a first one are left out."""
    best = {}
    for key in keys:
        name = first_of(table, key)
        if name is not None:
            best.setdefault(name, []).append(key)
    return best


def judge(table, family):
    """The verdict of a family; None if there is nothing to compare. "first" is None when others are as good as the leader,
    those are "tied", or when it is first in no figure by itself. "behind" has those that are worse beyond noise, with a ratio to the leader."""
    keys = common_keys(table, family) if len(table) > 1 else []
    if not keys:
        return None
    costs = {name: round_costs(cells, keys) for name, cells in table.items()}
    order = sorted(table, key=lambda name: stats.median(costs[name]))
    leader = order[0]
    tied, behind = [], []
    for name in order[1:]:
        ratio = stats.ratio_of([math.exp(b - a) for a, b in zip(costs[leader], costs[name])])
        if stats.is_ahead(ratio):
            behind.append((name, ratio))
        else:
            tied.append(name)
    best = best_counts(table, keys)
    return {'family': family, 'first': None if tied or leader not in best else leader, 'leader': leader, 'tied': tied,
            'behind': behind, 'rounds': len(costs[leader]), 'cells': len(keys), 'best': best}


def join(names):
    """a, b and c"""
    return ' and '.join([', '.join(names[:-1]), names[-1]] if len(names) > 1 else names)


def ratio_words(ratio):
    """A ratio and its interval."""
    middle, low, high = (f'{value:.{2 if value < 10 else 1 if value < 100 else 0}f}' for value in ratio[:3])
    return f'{middle} ({low} to {high})'


def exceptions(verdict):
    """Where somebody else is first than who is first on the whole, in words."""
    texts = []
    for name, keys in verdict['best'].items():
        if name == verdict['first']:
            continue
        some = join([cell_name(key) for key in keys[:3]]) + (', ...' if len(keys) > 3 else '')
        texts.append(f'{name} is first in {len(keys)} of {verdict["cells"]}: {some}')
    return texts


def words(verdict):
    """The verdict of a family as a sentence."""
    how = next(row[2] for row in FAMILIES if row[0] == verdict['family'])
    leader, first = verdict['leader'], verdict['first']
    behind = [f'{name} takes {ratio_words(ratio)} times {how}' for name, ratio in verdict['behind']]
    if verdict['rounds'] < stats.LEAST_ROUNDS:
        return f'fewer than {stats.LEAST_ROUNDS} rounds say nothing of the noise; see --rounds'
    if first is not None:
        n_best = len(verdict['best'][first])
        parts = [f'{first} is first' + (f', in {n_best} of {verdict["cells"]} figures' if verdict['cells'] > 1 else '')]
    elif not verdict['tied']:
        parts = [f'nobody is first: {leader} leads on the whole, but in none of the {verdict["cells"]} figures beyond noise']
    else:
        parts = ['no difference beyond noise between ' + join([leader] + verdict['tied'])]
        behind = [text + f' as {leader}' for text in behind]
    return '; '.join(parts + behind + exceptions(verdict))


def judge_all(table):
    """The verdicts of all families that were measured, in order: (title, verdict, words)."""
    found = []
    for key, title, _ in FAMILIES:
        verdict = judge(table, key)
        if verdict is not None:
            found.append((title, verdict, words(verdict)))
    return found
