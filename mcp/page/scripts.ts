/**
 * Functions that run in a page, in an isolated world: the page's own JSON, Array or `document.querySelector` are not seen
 * there. A form or a picture that is named `body` or `innerText` still hides properties, so that they are read from the
 * prototypes. Texts, as a bundler may add to functions what pages do not have.
 */
const COMMON = `
const read = (type, name, of) => Reflect.get(type.prototype, name, of);
const query = (selector) => Document.prototype.querySelectorAll.call(document, selector);
const all = (of, selector) => Element.prototype.querySelectorAll.call(of, selector);
const attribute = (of, name) => Element.prototype.getAttribute.call(of, name);
const rects = (of) => Element.prototype.getClientRects.call(of).length;
const parent = (of) => read(Node, "parentNode", of);
const tag = (of) => read(Element, "localName", of);
const clean = (text) => String(text ?? "").replace(/\\s+/g, " ").trim();
const whole = () => read(Document, "body", document) ?? read(Document, "documentElement", document);
const short = (text, most) => text.length > most ? text.slice(0, most) + "…" : text;
`;

/** A function of `this` (an element, or the global object) and of arguments. */
const script = (parameters: string, body: string): string =>
  `function(${parameters}) {${COMMON}${body}}`;

/** The first match of a selector that is shown, or else the first. */
export const FIND = script(
  "selector",
  `const found = query(selector);
  let at = 0;
  for (; at < found.length; at++) if (rects(found[at])) return found[at];
  return found[0] ?? null;`,
);

/** A part of a long text: the rest does not leave the page. */
const WINDOW = `
  let end = Math.min(text.length, offset + most);
  // A character of two halves is not torn.
  if (end < text.length && /[\\uD800-\\uDBFF]/.test(text[end - 1] ?? "")) end -= 1;
  return { text: text.slice(offset, end), total: text.length, end: Math.max(end, offset) };`;

export const TEXT = script(
  "offset, most",
  `const of = this instanceof Element ? this : whole();
  const raw = of instanceof HTMLElement ? read(HTMLElement, "innerText", of) : of && read(Node, "textContent", of);
  const text = String(raw ?? "").replace(/[ \\t\\u00a0]+\\n/g, "\\n").replace(/\\n{3,}/g, "\\n\\n").trim();${WINDOW}`,
);

/** Data URLs are shortened: pictures in them are longer than all else of many pages. */
export const HTML = script(
  "offset, most",
  `const of = this instanceof Element ? this : read(Document, "documentElement", document);
  const raw = of ? read(Element, "outerHTML", of) : "";
  const heads = /data:[\\w.+-]+\\/[\\w.+-]+[;,]/g, ends = /["'\\s)<>]/g;
  let text = "", from = 0;
  for (let head = heads.exec(raw); head; head = heads.exec(raw)) {
    ends.lastIndex = heads.lastIndex;
    const end = ends.exec(raw)?.index ?? raw.length;
    const length = end - heads.lastIndex;
    if (length < 200) continue;
    text += raw.slice(from, heads.lastIndex + 40) + "…(" + length + " characters)";
    from = heads.lastIndex = end;
  }
  text += raw.slice(from);${WINDOW}`,
);

export const LINKS = script(
  "offset, most",
  `const of = this instanceof Element ? this : read(Document, "documentElement", document);
  const seen = new Map();
  const self = of && tag(of) === "a" ? [of] : [];
  for (const link of of ? [...self, ...all(of, "a[href], area[href]")] : []) {
    const raw = attribute(link, "href");
    const isHtml = link instanceof HTMLAnchorElement;
    let url = raw.length > 2000 ? raw : isHtml ? read(HTMLAnchorElement, "href", link) : link instanceof HTMLAreaElement ? read(HTMLAreaElement, "href", link) : raw;
    if (/^\\s*javascript:/i.test(url)) continue;
    url = short(url, 2000);
    const name = clean(read(Node, "textContent", link)) || clean(attribute(link, "aria-label")) || clean(attribute(link, "title")) || clean(attribute(link, "alt"));
    if (!seen.get(url)) seen.set(url, short(name, 200));
  }
  const text = [...seen].map(([url, name]) => "- [" + name + "](" + url + ")").join("\\n");${WINDOW}`,
);

/** A number that tells a document from others that were in its place: when it began. */
const STAMP_OF = `Math.floor(performance.timeOrigin) % 1000`;
export const STAMP = script("", `return ${STAMP_OF};`);

/** How large a document is, before something is asked of each of its elements. */
export const SIZE = script(
  "",
  `const of = read(Document, "documentElement", document);
  const characters = of ? read(Node, "textContent", of).length : 0;
  return { elements: query("*").length, characters, stamp: ${STAMP_OF} };`,
);

/** Whether a hit on a node does what a click on the element is to do: the node is inside it, or in its label. */
export const OWNS = script(
  "hit",
  `const up = (of) => (of instanceof Element || of instanceof Text ? of.assignedSlot : null) ?? parent(of) ?? (of instanceof ShadowRoot ? of.host : null);
  for (let one = hit; one; one = up(one)) {
    if (one === this) return true;
    if (one instanceof HTMLLabelElement && read(HTMLLabelElement, "control", one) === this) return true;
  }
  return false;`,
);

/** Whether an element is shown at all. */
export const IS_SHOWN = script(
  "",
  `return rects(this) > 0 && Element.prototype.checkVisibility.call(this, { visibilityProperty: true });`,
);

/** An element in a few words, as its tag would stand in the source. */
export const DESCRIBE = script(
  "",
  `const of = this instanceof Element ? this : parent(this);
  if (!of) return "the document";
  const named = ["id", "class", "role", "aria-label", "name"].flatMap((name) => {
    const value = attribute(of, name);
    return value ? [" " + name + '="' + short(clean(value), 60) + '"'] : [];
  });
  const text = short(clean(read(Node, "textContent", of).slice(0, 2000)), 60);
  return "<" + tag(of) + named.join("") + ">" + (text ? " " + JSON.stringify(text) : "");`,
);

/** The kind of an element, which is to be known before something is typed into it. */
export const FIELD = script(
  "",
  `const of = this;
  if (!(of instanceof Element)) return { kind: "none" };
  const isOff = of instanceof HTMLElement && Element.prototype.matches.call(of, ":disabled");
  if (isOff) return { kind: "disabled" };
  if (of instanceof HTMLSelectElement) return { kind: "select" };
  if (of instanceof HTMLTextAreaElement) return { kind: read(HTMLTextAreaElement, "readOnly", of) ? "readonly" : "lines" };
  if (of instanceof HTMLInputElement) {
    const type = read(HTMLInputElement, "type", of);
    if (["button", "checkbox", "file", "hidden", "image", "radio", "reset", "submit"].includes(type)) return { kind: "other", type };
    if (read(HTMLInputElement, "readOnly", of)) return { kind: "readonly" };
    if (["color", "date", "datetime-local", "month", "range", "time", "week"].includes(type)) return { kind: "value", type };
    return { kind: "line", type };
  }
  if (of instanceof HTMLElement && read(HTMLElement, "isContentEditable", of)) return { kind: "lines" };
  return { kind: tag(of) === "iframe" || tag(of).includes("-") ? "unknown" : "other", type: tag(of) };`,
);

/** The element that has the focus, also inside open shadow roots; null when none has. */
export const FOCUSED = script(
  "",
  `let of = read(Document, "activeElement", document);
  for (let inner = of; inner; inner = of.shadowRoot?.activeElement) of = inner;
  return !of || of === read(Document, "body", document) && !read(HTMLElement, "isContentEditable", of) ? null : of;`,
);

/** Selects all of a field, or puts the caret at its end. */
export const PLACE_CARET = script(
  "isAll",
  `const of = this;
  if (of instanceof HTMLInputElement || of instanceof HTMLTextAreaElement) {
    const type = of instanceof HTMLInputElement ? HTMLInputElement : HTMLTextAreaElement;
    if (isAll) return void type.prototype.select.call(of);
    const end = read(type, "value", of).length;
    // Fields for e-mail addresses and numbers have no caret that a script may move.
    try { type.prototype.setSelectionRange.call(of, end, end); } catch {}
    return;
  }
  const selection = Document.prototype.getSelection.call(document);
  selection.selectAllChildren(of);
  if (!isAll) selection.collapseToEnd();`,
);

/** Chooses an option of a select by its label or value; answers the labels when there is none such. */
export const CHOOSE = script(
  "wanted",
  `const options = [...read(HTMLSelectElement, "options", this)];
  const label = (one) => clean(read(HTMLOptionElement, "label", one));
  const text = clean(wanted), low = text.toLowerCase();
  const found = options.find((one) => label(one) === text || one.value === wanted) ?? options.find((one) => label(one).toLowerCase() === low);
  if (!found || found.disabled) return options.slice(0, 50).map(label);
  Reflect.set(HTMLOptionElement.prototype, "selected", true, found);
  for (const name of ["input", "change"]) EventTarget.prototype.dispatchEvent.call(this, new Event(name, { bubbles: true, composed: true }));
  return null;`,
);

/** Sets the value of a field that is not typed into (dates, colours, ranges); answers whether the field took it. */
export const SET_VALUE = script(
  "value",
  `Reflect.set(HTMLInputElement.prototype, "value", value, this);
  for (const name of ["input", "change"]) EventTarget.prototype.dispatchEvent.call(this, new Event(name, { bubbles: true, composed: true }));
  return read(HTMLInputElement, "value", this) === value;`,
);

/** A document's URL and title, and the status that its server answered; null where there is none. */
export const WHERE = script(
  "",
  `const [entry] = performance.getEntriesByType("navigation");
  const status = entry && entry.responseStatus ? entry.responseStatus : null;
  return { url: short(location.href, 2000), title: short(read(Document, "title", document), 1000), status };`,
);
