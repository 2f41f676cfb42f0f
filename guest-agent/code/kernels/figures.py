"""Figures of matplotlib as results: `show` shows them, and so does the end of a cell."""

import sys


def figures():
    pyplot = sys.modules.get("matplotlib.pyplot")
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    return [] if pyplot is None or helpers is None else [one.canvas.figure for one in helpers.Gcf.get_all_fig_managers()]


def is_figure(value):
    figure = getattr(sys.modules.get("matplotlib.figure"), "Figure", None)
    return figure is not None and isinstance(value, figure)


def forget_figure(figure):
    """A figure that was shown is not shown once more at the end of its cell."""
    if figure in figures():
        sys.modules["matplotlib.pyplot"].close(figure)


def chart_part(figure):
    try:
        chart = chart_of(figure)
    except Exception:
        # It may be anything: the picture is there.
        return {}
    return {} if chart is None else {"svc/chart": chart}


def show_figures(*_figures, **_more):
    for figure in figures():
        data, _metadata = shell.display_formatter.format(figure)
        if "image/png" in data:
            shell.results.publish(data)


class PyplotFinder:
    """Adopts pyplot when it is first imported, by whomever."""

    def find_spec(self, name, _path=None, _target=None):
        if name != "matplotlib.pyplot":
            return None
        sys.meta_path.remove(self)
        import importlib.util

        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def adopting(module):
            execute(module)
            adopt_pyplot(module)

        spec.loader.exec_module = adopting
        return spec


def adopt_pyplot(pyplot):
    """Figures are results: `show` shows them, and so does the end of a cell."""
    from IPython.core.pylabtools import select_figure_formats

    select_figure_formats(shell, {"png"}, bbox_inches=None)
    pyplot.show = show_figures
    pyplot.switch_backend("agg")
    remember_boxes(pyplot.Axes)
    pyplot.Figure.show = lambda figure, warn=True: show_figures()
