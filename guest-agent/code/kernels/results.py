"""What a cell shows: values, figures and tables in every form in which they can be seen."""

import base64
import json
import sys

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.formatters import DisplayFormatter

TABLE_ROWS = 1_000


def note(text):
    print("svc: " + text, file=sys.stderr)


class Results:
    """What a cell shows, as the agent is told of it."""

    def __init__(self, wire):
        self.wire = wire
        self.run = None
        self.max_bytes = 0
        self.text_characters = 0
        self.fields = {}

    def begin(self, run, limits):
        """What the agent asks for: MIME types by field in their order, and how long things may be."""
        self.run = run
        self.max_bytes = limits["maxBytes"]
        self.text_characters = limits["textCharacters"]
        self.fields = limits["fields"]

    def publish(self, data):
        result = {}
        for mime, field in self.fields.items():
            value = data.get(mime)
            if value is None:
                continue
            if isinstance(value, (bytes, bytearray)):
                value = base64.b64encode(value).decode("ascii")
            if isinstance(value, str) and field in ("text", "html", "markdown", "latex"):
                value = self.cut(result, field, value)
            result[field] = value
        body = self.fit(result)
        if body:
            flush()
            self.wire.send(body)

    def cut(self, result, field, value):
        # Everything but a text is whole or left out.
        if len(value) <= self.text_characters or field != "text":
            return value
        result["truncated"] = True
        return value[: self.text_characters] + "…"

    def fit(self, result):
        """The message with everything that can be told; what is too large is left out, and a line of stderr says so."""
        sizes = {}
        for field, value in list(result.items()):
            try:
                sizes[field] = len(encode(value))
            except (TypeError, ValueError, RecursionError) as error:
                del result[field]
                note(f"the {field} of this result is no JSON and is left out: {error}")
        while sizes and sum(sizes.values()) > self.max_bytes:
            field = max(sizes, key=sizes.get)
            size = sizes.pop(field)
            del result[field]
            result["truncated"] = True
            note(
                f"the {field} of this result has {size} bytes and is left out: {self.max_bytes} is the most. "
                "Save it to a file and read the file."
            )
        return encode({"kind": "result", "run": self.run, "result": result}) if result else None


def table_of(value):
    """The first rows of a DataFrame."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(value, getattr(pandas, "DataFrame", ())):
        return None
    try:
        shown = json.loads(value.head(TABLE_ROWS).to_json(orient="split", date_format="iso", default_handler=str))
    except Exception:
        return None
    names = [str(name) if not isinstance(name, list) else "/".join(map(str, name)) for name in shown["columns"]]
    return {"columns": names, "index": shown["index"], "rows": shown["data"], "totalRows": len(value)}


class Formatter(DisplayFormatter):
    def format(self, value, include=None, exclude=None):
        data, metadata = super().format(value, include=include, exclude=exclude)
        table = table_of(value)
        if table is not None:
            data["svc/table"] = table
        if is_figure(value):
            # After its picture: what is drawn has its ticks.
            data.update(chart_part(value))
            forget_figure(value)
        return data, metadata


class Hook(DisplayHook):
    """The value of a cell's last expression."""

    def write_output_prompt(self):
        pass

    def write_format_data(self, data, _metadata=None):
        self.shell.results.publish(data)

    def finish_displayhook(self):
        pass


class Publisher(DisplayPublisher):
    def publish(self, data, *_rest, **_more):
        self.shell.results.publish(data)

    def clear_output(self, wait=False):
        pass
