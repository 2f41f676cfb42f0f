"""What a figure of matplotlib shows, as numbers: the schema is contract/control-channel/chart.ts."""

import math
import re
import sys

POINTS_MAX = 20_000
TICKS_MAX = 200
BOXES = "_svc_boxes"
UNIT = re.compile(r"[(\[]([^()\[\]]{1,20})[)\]]\s*$")


def number(value):
    value = float(value)
    return value if math.isfinite(value) else None


def rounded(value):
    """A tick without what adding up has left in its last digits."""
    return float(f"{value:.12g}") if isinstance(value, float) else value


def own_label(artist):
    label = str(artist.get_label() or "")
    return "" if label.startswith("_") else label


class Axis:
    """One axis: how its numbers are told."""

    def __init__(self, axis):
        self.axis = axis
        converter = type(axis.converter).__name__
        self.names = {}
        if converter == "StrCategoryConverter" and axis.units is not None:
            self.names = {place: name for name, place in axis.units._mapping.items()}
            self.kind = "category"
        elif "Date" in converter or "Time" in converter:
            self.kind = "date"
        elif "Period" in converter:
            self.kind = "period"
        else:
            self.kind = axis.get_scale()

    def value(self, place):
        """A place on the axis as what it means."""
        place = number(place)
        if place is None:
            return None
        if self.kind == "category":
            return self.names.get(round(place), place)
        if self.kind == "date":
            moment = sys.modules["matplotlib.dates"].num2date(place)
            return moment.replace(tzinfo=None).isoformat() if moment.utcoffset() in (None, moment.utcoffset() * 0) else moment.isoformat()
        if self.kind == "period":
            import pandas

            return str(pandas.Period(ordinal=round(place), freq=self.axis.freq))
        return place

    def ticks(self):
        """The ticks that are seen: their places and texts."""
        low, high = sorted(self.axis.get_view_interval())
        slack = (high - low) * 1e-9
        both = zip(self.axis.get_majorticklocs(), self.axis.get_majorticklabels())
        return [(float(place), label.get_text()) for place, label in both if low - slack <= place <= high + slack][:TICKS_MAX]

    def text_at(self, place):
        """The text of the tick at a place, where the code has given it one."""
        ticks = self.ticks()
        if self.kind in ("category", "date", "period") or not ticks:
            return self.value(place)
        spacing = min((b - a for (a, _), (b, _) in zip(ticks, ticks[1:])), default=1) or 1
        near, text = min(ticks, key=lambda tick: abs(tick[0] - place))
        if text and abs(near - place) <= spacing / 2 and not is_numeric(text):
            return text
        return number(place)

    def told(self):
        label = self.axis.get_label_text()
        unit = UNIT.search(label)
        ticks = self.ticks()
        has_texts = any(text and not is_numeric(text) for _, text in ticks)
        named = self.kind in ("linear",) and has_texts
        told = {"label": label, "ticks": [text if named else rounded(self.value(place)) for place, text in ticks], "scale": "category" if named else "date" if self.kind == "period" else self.kind}
        if unit:
            told["unit"] = unit.group(1)
        return told


def is_numeric(text):
    text = re.sub(r"\$\\mathdefault\{(.*)\}\$", r"\1", text)
    return re.fullmatch(r"[-−+]?[\d.,\s]*(?:(?:e|×10|10)[-−+^{}\d]*)?%?", text) is not None


class Points:
    """Counts the points of a chart, so that it has an end."""

    def __init__(self):
        self.left = POINTS_MAX
        self.is_cut = False

    def take(self, pairs, x, y):
        pairs = list(pairs)
        self.is_cut = self.is_cut or len(pairs) > self.left
        kept = pairs[: self.left]
        self.left -= len(kept)
        return [[x.value(a), y.value(b)] for a, b in kept]


def lines_of(ax, skipped):
    """Lines with data of their own: not those across the axes, nor the caps of error bars."""
    return [line for line in ax.get_lines() if line not in skipped and line.get_transform() == ax.transData and len(line.get_xdata()) > 0]


def series_of(ax, points):
    """What is drawn in one pair of axes: for each kind its elements."""
    x, y = Axis(ax.xaxis), Axis(ax.yaxis)
    found = {}
    boxes = getattr(ax, BOXES, None)
    if boxes:
        found["box"] = [box_of(one) for one in boxes]
    elif ax.name == "rectilinear":
        skipped = [cap for one in ax.containers if type(one).__name__ == "ErrorbarContainer" for cap in one[1]]
        for line in lines_of(ax, skipped):
            pairs = zip(line.get_xdata(orig=False), line.get_ydata(orig=False))
            kind = "scatter" if line.get_linestyle() in ("None", "", " ") else "line"
            found.setdefault(kind, []).append({"label": own_label(line), "points": points.take(pairs, x, y)})
    for one in ax.collections:
        name = type(one).__name__
        if name == "PathCollection":
            offsets = [pair for pair in one.get_offsets().tolist() if None not in pair]
            found.setdefault("scatter", []).append({"label": own_label(one), "points": points.take(offsets, x, y)})
        elif name == "QuadMesh":
            found.setdefault("heatmap", []).append(rows_of(one.get_array().reshape(one._coordinates.shape[0] - 1, -1), points))
        elif name == "PolyCollection":
            paths = [path.vertices.tolist() for path in one.get_paths()]
            found.setdefault("area", []).extend({"label": own_label(one), "points": points.take(path, x, y)} for path in paths)
    for one in ax.images:
        if one.get_array().ndim == 2:
            found.setdefault("heatmap", []).append(rows_of(one.get_array(), points))
    for one in ax.containers:
        if type(one).__name__ == "BarContainer" and len(one.patches) > 0:
            kind, elements = bars_of(one, x, y)
            found.setdefault(kind, []).extend(elements)
    wedges = [patch for patch in ax.patches if type(patch).__name__ == "Wedge"]
    if wedges:
        found["pie"] = [wedge_of(one) for one in wedges]
    return found


def bars_of(container, x, y):
    upright = container.orientation != "horizontal"
    edges = [((p.get_x(), p.get_width()) if upright else (p.get_y(), p.get_height())) for p in container.patches]
    values = [(p.get_height() if upright else p.get_width()) for p in container.patches]
    along, across = (x, y) if upright else (y, x)
    group = own_label(container)
    touch = all(abs(a + w - b) <= abs(w) * 1e-6 for (a, w), (b, _) in zip(edges, edges[1:]))
    if len(edges) > 1 and touch and along.kind != "category":
        return "histogram", [{"label": group, "from": along.value(a), "to": along.value(a + w), "value": number(v)} for (a, w), v in zip(edges, values)]
    return "bar", [{"label": along.text_at(a + w / 2), "group": group, "value": number(v)} for (a, w), v in zip(edges, values)]


def wedge_of(wedge):
    angle = abs(wedge.theta2 - wedge.theta1)
    return {"label": own_label(wedge), "angle": number(angle), "share": number(angle / 360), "radius": number(wedge.r)}


def box_of(stats):
    numbers = {"min": "whislo", "firstQuartile": "q1", "median": "med", "thirdQuartile": "q3", "max": "whishi"}
    told = {name: number(stats[key]) for name, key in numbers.items()}
    return {"label": str(stats.get("label", "")), **told, "outliers": [number(one) for one in list(stats.get("fliers", []))[:1000]]}


def rows_of(array, points):
    rows = array.tolist()
    if array.size > points.left:
        points.is_cut = True
        return {"rows": []}
    points.left -= array.size
    return {"rows": [[None if one is None else number(one) for one in row] for row in rows]}


PLAIN = ("line", "scatter", "bar", "pie")


def chart_of_axes(ax):
    points = Points()
    found = {kind: elements for kind, elements in series_of(ax, points).items() if elements}
    if not found and not ax.get_title():
        return None
    axes = {"title": ax.get_title(), "x": Axis(ax.xaxis).told(), "y": Axis(ax.yaxis).told()}
    cut = {"truncated": True} if points.is_cut else {}
    if len(found) == 1:
        ((kind, elements),) = found.items()
        return {**typed(kind), **axes, "elements": elements, **cut}
    parts = [{**typed(kind), **axes, "elements": elements} for kind, elements in found.items()]
    subtype = "mixed" if parts else ax.name if ax.name != "rectilinear" else "other"
    return {"type": "composite", "subtype": subtype, **axes, "elements": parts, **cut}


def typed(kind):
    return {"type": kind} if kind in PLAIN else {"type": "composite", "subtype": kind}


def chart_of(figure):
    """The chart of a figure; None where its structure cannot be read."""
    axes = [ax for ax in figure.axes if ax.get_label() != "<colorbar>" and ax.get_visible()]
    charts = [chart for chart in map(chart_of_axes, axes) if chart is not None]
    if len(charts) <= 1:
        return charts[0] if charts else None
    title = figure._suptitle.get_text() if figure._suptitle is not None else ""
    nothing = {"label": "", "ticks": []}
    return {"type": "composite", "subtype": "axes", "title": title, "x": nothing, "y": nothing, "elements": charts}


def remember_boxes(axes):
    """Boxes are drawn as lines: what they mean is kept beside them."""
    draw = axes.bxp

    def bxp(self, bxpstats, *rest, **more):
        stats = list(bxpstats)
        setattr(self, BOXES, getattr(self, BOXES, []) + stats)
        return draw(self, stats, *rest, **more)

    bxp.__doc__ = draw.__doc__
    axes.bxp = bxp
