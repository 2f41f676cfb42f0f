/** The first member of a line that is a still, which the pool turns into events of rrweb. */
export const STILL = "svc.still";

/** What follows in a still, by its first number. A closing belongs to the element or document that was opened last. */
export const TOKEN = {
  close: 0,
  /** Name, flags, count of attributes, and each one's name and value. */
  element: 1,
  text: 3,
  cdata: 4,
  comment: 5,
  /** Name, public and system id. */
  doctype: 6,
  /** The next node is a child of a shadow root. */
  inShadow: 7,
  /** Its mode. */
  document: 8,
  /** The id of the frame that the next document is in. */
  frame: 9,
} as const;

export const FLAG = { svg: 1, shadowHost: 2, custom: 4 } as const;

/** Names of attributes that no page has: the URL that those of the next attribute begin from, and the rules of a style sheet. */
export const BASE = "_base";
export const CSS = "_cssText";

/**
 * A still of a document: all its nodes at one moment, without numbers by which changes could be told later. It takes a tenth of
 * the time of rrweb's snapshot, and a quarter of its bytes. `maskInput`, `MASKS_ALL` and `BLOCKED` come from the page script,
 * `PICTURED` and `stillIds` from the pictures'.
 *
 * Forms and documents let pages put elements in the place of their members: those are read by the prototype's own getters.
 */
export const STILL_SCRIPT = `
  const call = Function.prototype.call;
  const getter = (of, name) => call.bind(Object.getOwnPropertyDescriptor(of.prototype, name).get);
  const method = (of, name) => call.bind(of.prototype[name]);
  const typeOf = getter(Node, "nodeType");
  const dataOf = getter(CharacterData, "data");
  const nameOf = getter(Element, "localName");
  const shadowOf = getter(Element, "shadowRoot");
  const namesOf = method(Element, "getAttributeNames");
  const readOf = method(Element, "getAttribute");
  const insideOf = getter(HTMLIFrameElement, "contentDocument");
  const modeOf = getter(Document, "compatMode");
  const walkerOf = method(Document, "createTreeWalker");
  const adoptedOf = getter(Document, "adoptedStyleSheets");
  const baseOf = getter(Node, "baseURI");
  const FIELDS = new Set(["input", "textarea", "select"]);
  const PUSHED = new Set(["radio", "checkbox", "submit", "button"]);
  const cssOf = (sheet) =>
    Array.from(sheet.cssRules, (rule) => {
      try {
        if (rule.styleSheet) return cssOf(rule.styleSheet);
      } catch {}
      return rule.cssText;
    }).join("");
  const rulesOf = (element) => {
    try {
      return element.sheet && cssOf(element.sheet);
    } catch {
      // The sheet is another origin's.
      return null;
    }
  };
  /** Whether an observer of the document hears of all that may change in what the last still has. */
  let isPlain = false;
  const still = () => {
    isPlain = true;
    const out = [];
    const frames = [];
    let count = 0;
    let attributes = 0;
    const put = (name, value) => {
      out.push(name, value);
      attributes += 1;
    };
    const putField = (element, name) => {
      if (PUSHED.has(element.type)) {
        if (element.checked) put("checked", true);
      } else if (element.value) put("value", maskInput(element.value, element));
    };
    const putMedia = (element) => {
      put("rr_mediaState", element.paused ? "paused" : "played");
      put("rr_mediaCurrentTime", element.currentTime);
      put("rr_mediaPlaybackRate", element.playbackRate);
      put("rr_mediaMuted", element.muted);
      put("rr_mediaLoop", element.loop);
      put("rr_mediaVolume", element.volume);
    };
    const skips = (name, attribute, element) => {
      if (attribute === "value") return FIELDS.has(name) && !PUSHED.has(element.type);
      if (attribute === "checked") return name === "input";
      if (attribute === "selected") return name === "option";
      if (attribute === "autoplay") return name === "video" || name === "audio";
      return attribute === "src" && name === "iframe";
    };
    const putBlocked = (element) => {
      const { width, height } = element.getBoundingClientRect();
      const kinds = readOf(element, "class");
      if (kinds !== null) put("class", kinds);
      put("rr_width", width + "px");
      put("rr_height", height + "px");
    };
    const putSheet = (element, rules) => {
      if (element.sheet.href) put("${BASE}", element.sheet.href);
      put("${CSS}", rules);
    };
    const putFrame = (element, id) => {
      const inside = insideOf(element);
      if (inside) {
        frames.push([id, inside]);
        isPlain = false;
      } else put("rr_src", readOf(element, "src") ?? "");
    };
    const open = (element, context) => {
      const id = count;
      const name = nameOf(element);
      const names = namesOf(element);
      const kinds = names.includes("class") ? readOf(element, "class") : "";
      const marks = kinds.includes("rr-") ? kinds.split(/\\s+/) : [];
      const isSvg = name === "svg" || (context.isSvg && context.name !== "foreignObject");
      const isBlocked = BLOCKED.has(name) || marks.includes("rr-block");
      const shadow = isBlocked ? null : shadowOf(element);
      // Their rules are no part of the tree: rrweb knows how to tell of them.
      if (shadow && shadow.adoptedStyleSheets.length > 0) throw new Error("adopted");
      const flags = (isSvg && ${FLAG.svg}) | (shadow && ${FLAG.shadowHost}) | (name.includes("-") && ${FLAG.custom});
      const at = out.push(${TOKEN.element}, name, flags, 0) - 1;
      attributes = 0;
      let rules = null;
      if (isBlocked) putBlocked(element);
      else {
        if (name === "style" || name === "link") rules = rulesOf(element);
        const isLink = rules && name === "link";
        for (const attribute of names)
          if (!skips(name, attribute, element) && !(isLink && (attribute === "rel" || attribute === "href")))
            put(attribute, readOf(element, attribute));
        if (rules) putSheet(element, rules);
        if (FIELDS.has(name)) putField(element, name);
        else if (name === "iframe") putFrame(element, id);
        else if (name === "video" || name === "audio") putMedia(element);
        else if (name === "dialog" && element.open)
          put("rr_open_mode", element.matches("dialog:modal") ? "modal" : "non-modal");
        if (TAKES_PICTURES && PICTURED.includes(name)) stillIds.set(element, id);
      }
      out[at] = attributes;
      const isMasked = context.isMasked || marks.includes("rr-mask");
      const isLeaf = isBlocked || name === "textarea";
      return { element, name, isSvg, isMasked, isLeaf, isCaptured: Boolean(rules), shadow };
    };
    const textOf = (text, { name, isCaptured, isMasked }) => {
      if (name === "script") return "SCRIPT_PLACEHOLDER";
      if (isCaptured) return "";
      return isMasked && name !== "style" ? text.replace(/\\S/g, "*") : text;
    };
    /** The context of its children, for what may have some. */
    const visit = (node, context) => {
      const type = typeOf(node);
      count += 1;
      if (type === 1) return open(node, context);
      if (type === 3) out.push(${TOKEN.text}, textOf(dataOf(node), context));
      else if (type === 4) out.push(${TOKEN.cdata});
      else if (type === 10) out.push(${TOKEN.doctype}, node.name, node.publicId, node.systemId);
      else out.push(${TOKEN.comment}, type === 8 && !MASKS_ALL ? dataOf(node) : "");
      return null;
    };
    const close = ({ shadow, isMasked }) => {
      if (shadow) {
        isPlain = false;
        walk(shadow, true, isMasked);
      }
      out.push(${TOKEN.close});
    };
    const walk = (root, isShadow, isMasked) => {
      const walker = walkerOf(document, root, 0xffffffff);
      let context = { name: "", isSvg: false, isMasked };
      const outer = [];
      for (let node = walker.firstChild(); node;) {
        if (isShadow && outer.length === 0) out.push(${TOKEN.inShadow});
        const inner = visit(node, context);
        const child = inner && !inner.isLeaf && walker.firstChild();
        if (child) {
          outer.push(context);
          context = inner;
          node = child;
          continue;
        }
        if (inner) close(inner);
        for (node = walker.nextSibling(); !node && outer.length > 0; node = walker.nextSibling()) {
          walker.parentNode();
          close(context);
          context = outer.pop();
        }
      }
    };
    const walkDocument = (root) => {
      if (adoptedOf(root).length > 0) throw new Error("adopted");
      count += 1;
      out.push(${TOKEN.document}, modeOf(root));
      walk(root, false, MASKS_ALL);
      out.push(${TOKEN.close});
    };
    walkDocument(document);
    for (const [id, inside] of frames) {
      out.push(${TOKEN.frame}, id);
      walkDocument(inside);
    }
    const size = [innerWidth, innerHeight, scrollX, scrollY];
    return JSON.stringify(["${STILL}", Date.now(), location.href, baseOf(document), size, out]);
  };`;
