"""Curves as SVG: both axes logarithmic, a band for the interval of each curve."""
import html
import math

WIDTH, PLOT_HEIGHT = 480, 230
LEFT, RIGHT, TOP = 66, 14, 12
BOTTOM = 46  # labels of the axis
ROW = 18  # of the legend
COLOURS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#444444')
DASHES = ('none', '7 3', '2 3', '9 3 2 3')


def style_of(index):
    """Colour and dashes of a curve: those of one source are the same in all figures."""
    return COLOURS[index % len(COLOURS)], DASHES[index // len(COLOURS) % len(DASHES)]


def plain(value):
    """A figure without exponents, as short as it can be."""
    return f'{value:.0f}' if value >= 1000 else f'{value:.3g}'


def bytes_name(value):
    """1024 -> 1K."""
    for unit, name in ((1 << 30, 'G'), (1 << 20, 'M'), (1 << 10, 'K')):
        if value >= unit and value % unit == 0:
            return f'{value // unit}{name}'
    return str(value)


def y_ticks(low, high):
    """Ticks that enclose the values: powers of ten, with 2 and 5 between them where there are few."""
    steps = (1, 2, 5) if high / low < 1000 else (1,)
    ticks = [step * 10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
             for step in steps]
    first = max([i for i, tick in enumerate(ticks) if tick <= low * 1.0001] or [0])
    last = min([i for i, tick in enumerate(ticks) if tick >= high * 0.9999] or [len(ticks) - 1])
    return ticks[first:max(last, first + 1) + 1]


def x_ticks(values):
    """At most seven of the sizes that were measured."""
    step = math.ceil(len(values) / 7)
    return values[::step]


class Axes:
    """Where values lie."""

    def __init__(self, xs, ticks):
        self.x_low, self.x_high = math.log(xs[0]), math.log(xs[-1])
        self.y_low, self.y_high = math.log(ticks[0]), math.log(ticks[-1])

    def x(self, value):
        """From the left."""
        share = (math.log(value) - self.x_low) / (self.x_high - self.x_low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        """From the top."""
        share = (math.log(value) - self.y_low) / (self.y_high - self.y_low)
        return TOP + (1 - share) * PLOT_HEIGHT


def path(points, is_closed=False):
    """The way through points, for an attribute."""
    return 'M' + 'L'.join(f'{x:.1f} {y:.1f}' for x, y in points) + ('Z' if is_closed else '')


def text(x, y, words, more=''):
    """A text at a point."""
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{html.escape(words)}</text>'


def frame(axes, xs, ticks, x_label, y_label):
    """Grid, ticks and the names of the axes."""
    bottom, middle = TOP + PLOT_HEIGHT, TOP + PLOT_HEIGHT / 2
    lines = ''.join(path([(LEFT, axes.y(tick)), (WIDTH - RIGHT, axes.y(tick))]) for tick in ticks)
    columns = ''.join(path([(axes.x(x), TOP), (axes.x(x), bottom)]) for x in x_ticks(xs))
    parts = [f'<path d="{lines}" class="grid"/>', f'<path d="{columns}" class="grid"/>']
    parts += [text(LEFT - 6, axes.y(tick) + 4, plain(tick), 'class="tick" text-anchor="end"') for tick in ticks]
    parts += [text(axes.x(x), bottom + 17, bytes_name(x), 'class="tick" text-anchor="middle"') for x in x_ticks(xs)]
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, bottom + 38, x_label, 'text-anchor="middle"'))
    parts.append(text(15, middle, y_label, f'text-anchor="middle" transform="rotate(-90 15 {middle:.1f})"'))
    return parts


def curve(axes, points, index):
    """A curve with its band and a mark at each point: x, value, low, high."""
    colour, dashes = style_of(index)
    band = [(axes.x(x), axes.y(high)) for x, _, _, high in points]
    band += [(axes.x(x), axes.y(low)) for x, _, low, _ in reversed(points)]
    line = [(axes.x(x), axes.y(value)) for x, value, _, _ in points]
    parts = [f'<path d="{path(band, True)}" fill="{colour}" fill-opacity="0.2"/>',
             f'<path d="{path(line)}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>']
    parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>' for x, y in line]
    return parts


def legend(row, label, index):
    """The name of a curve, below the figure."""
    colour, dashes = style_of(index)
    y = TOP + PLOT_HEIGHT + BOTTOM + ROW * row + 6
    return [f'<path d="{path([(LEFT, y), (LEFT + 30, y)])}" stroke="{colour}" stroke-width="3" stroke-dasharray="{dashes}"/>',
            text(LEFT + 38, y + 5, label)]


def chart(title, x_label, y_label, series):
    """A figure of series (label, index of its style, points), or nothing when no series has two points with positive
    values."""
    drawn = []
    for label, index, points in series:
        points = [point for point in sorted(points) if min(point) > 0]
        if len(points) > 1:
            drawn.append((label, index, points))
    if not drawn:
        return ''
    xs = sorted({point[0] for _, _, points in drawn for point in points})
    ticks = y_ticks(min(point[2] for _, _, points in drawn for point in points),
                    max(point[3] for _, _, points in drawn for point in points))
    axes = Axes(xs, ticks)
    parts = frame(axes, xs, ticks, x_label, y_label)
    for row, (label, index, points) in enumerate(drawn):
        parts += curve(axes, points, index) + legend(row, label, index)
    height = TOP + PLOT_HEIGHT + BOTTOM + ROW * len(drawn) + 4
    return (f'<figure><figcaption>{html.escape(title)}</figcaption><svg role="img" aria-label="{html.escape(title)}" '
            f'viewBox="0 0 {WIDTH} {height}">' + '\n'.join(parts) + '</svg></figure>\n')
