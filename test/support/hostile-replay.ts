import { gzipSync } from "node:zlib";

let id = 0;
const BODY_ID = 1_000_000;
const at = Date.now() - 60_000;

type Attributes = Record<string, string | number | boolean>;

/** A node of a document as rrweb writes it. */
function node(tagName: string, attributes: Attributes = {}, childNodes: object[] = []): object {
  return { type: 2, tagName, attributes, childNodes, id: ++id };
}
const text = (textContent: string): object => ({ type: 3, textContent, id: ++id });

/** Elements that would run a script or reach `trap`, if anything of them worked. */
export function hostileNodes(trap: string): object[] {
  const run = `top.ran = 1; fetch("${trap}/fetched")`;
  const frame = `<script>${run}</script><img src="${trap}/srcdoc">`;
  return [
    node("script", {}, [text(run)]),
    node("script", { src: `${trap}/script.js` }),
    node("script", { type: "speculationrules" }, [
      text(JSON.stringify({ prefetch: [{ urls: [`${trap}/rules`] }] })),
    ]),
    node("img", { src: `${trap}/img`, onerror: run, onload: run }),
    node("img", { srcset: `${trap}/srcset 1x`, attributionsrc: `${trap}/attribution` }),
    node("img", { src: "data:,broken", onerror: run, onError: run }),
    node("img", { rr_dataURL: `${trap}/data-url` }),
    node("canvas", { rr_dataURL: `${trap}/canvas` }),
    node("video", { src: `${trap}/video`, poster: `${trap}/poster`, autoplay: "" }),
    node("audio", { src: `${trap}/audio`, rr_mediaState: "played" }),
    node("a", { href: `javascript:${run}`, autofocus: "", id: "link" }, [text("a script")]),
    node("a", { href: `${trap}/link`, ping: `${trap}/ping`, target: "_top" }, [text("a link")]),
    node("iframe", { src: `javascript:${run}` }),
    node("iframe", { src: `${trap}/frame` }),
    node("iframe", { srcdoc: frame }),
    node("iframe", { srcdoc: frame, sandbox: "allow-scripts allow-same-origin" }),
    node("object", { data: `${trap}/object` }),
    node("embed", { src: `${trap}/embed` }),
    node("form", { action: `${trap}/form`, id: "form" }, [
      node("button", { formaction: `${trap}/formaction`, autofocus: "" }, [text("send")]),
      node("input", { type: "image", src: `${trap}/input` }),
    ]),
    node("style", { _cssText: `@import "${trap}/import"; @import url(${trap}/import-url);` }),
    node("style", {}, [
      text(`@import "${trap}/import-text"; body { background: url(${trap}/background) }
        @font-face { font-family: x; src: url(${trap}/font) } body { font-family: x }`),
    ]),
    node("div", { style: `background: url(${trap}/inline)`, background: `${trap}/attribute` }),
    {
      ...node("svg", {}, [{ ...node("image", { href: `${trap}/svg` }), isSVG: true }]),
      isSVG: true,
    },
    {
      ...node("svg", { onload: run }, [
        { ...node("use", { "xlink:href": `${trap}/use#a` }), isSVG: true },
      ]),
      isSVG: true,
    },
    { ...node("x-evil"), isCustom: true },
  ];
}

const HEAD = (trap: string): object[] => [
  node("base", { href: `${trap}/base/` }),
  node("meta", { "http-equiv": "refresh", content: `0; url=${trap}/refresh` }),
  node("meta", { "http-equiv": "x-dns-prefetch-control", content: "on" }),
  node("meta", { "http-equiv": "Content-Security-Policy", content: "default-src *" }),
  ...[
    "stylesheet",
    "preconnect",
    "dns-prefetch",
    "prefetch",
    "preload",
    "prerender",
    "modulepreload",
    "icon",
    "manifest",
  ].map((rel) => node("link", { rel, href: `${trap}/${rel}`, as: "style", crossorigin: "" })),
];

const event = (type: number, data: object, offset: number, tabId = "tab"): object => ({
  type,
  data,
  timestamp: at + offset,
  tabId,
});

/** A document of a tab, shown from `offset` on. */
export function shown(body: object[], head: object[] = [], offset = 0, tabId = "tab"): object[] {
  const html = node("html", {}, [
    node("head", {}, head),
    { ...node("body", {}, body), id: BODY_ID },
  ]);
  const document = {
    type: 0,
    childNodes: [{ type: 1, name: "html", publicId: "", systemId: "", id: ++id }, html],
    id: ++id,
  };
  return [
    event(4, { href: "http://recorded.test/", width: 800, height: 600 }, offset, tabId),
    event(2, { node: document, initialOffset: { left: 0, top: 0 } }, offset + 1, tabId),
  ];
}

/** Pictures of every node that are none. */
const hostilePictures = (trap: string): object[] =>
  [
    `${trap}/picture`,
    `data:image/svg+xml,<svg onload="top.ran=1"/>`,
    `javascript:top.ran=1`,
  ].flatMap((data, n) =>
    Array.from({ length: id }, (_, at) =>
      event(5, { tag: "svc.picture", payload: { id: at, picture: `${n}`, data } }, 450),
    ),
  );

/** The events of a replay whose page has tried everything. Its last text is `words`. */
export function hostileEvents(trap: string, words: string): object[] {
  id = 0;
  const body = [node("p", {}, [text("first words")]), ...hostileNodes(trap)];
  const link = node("link", {});
  const image = node("img", {});
  const page = shown([...body, link, image], HEAD(trap));
  const idOf = (each: object) => (each as { id: number }).id;
  // rrweb tells of each node by itself, its children too.
  const added = (parentId: number, each: object): object[] => {
    const { childNodes = [] } = each as { childNodes?: object[] };
    const self = { parentId, nextId: null, node: { ...each, childNodes: [] } };
    return [self, ...childNodes.flatMap((child) => added(idOf(each), child))];
  };
  const adds = (nodes: object[]): object[] => nodes.flatMap((each) => added(BODY_ID, each));
  const changes = [
    { source: 0, texts: [], attributes: [], removes: [], adds: adds(hostileNodes(trap)) },
    {
      source: 0,
      texts: [],
      removes: [],
      adds: [],
      attributes: [
        { id: idOf(link), attributes: { rel: "preconnect", href: `${trap}/late-preconnect` } },
        { id: idOf(link), attributes: { rel: "stylesheet", href: `${trap}/late-style` } },
        { id: idOf(image), attributes: { src: `${trap}/late-image`, onerror: "top.ran = 1" } },
      ],
    },
    { source: 10, family: "y", fontSource: `${trap}/late-font`, buffer: false },
    { source: 9, id: 1, type: 0, commands: [{ property: "constructor", args: [`top.ran = 1`] }] },
    {
      source: 0,
      texts: [],
      attributes: [],
      removes: [],
      adds: adds([node("p", {}, [text(words)])]),
    },
  ];
  return [
    ...page,
    ...changes.map((data, n) => event(3, data, 100 + n * 50)),
    event(6, { plugin: "evil", payload: {} }, 400),
    event(5, { tag: `<img src=x onerror="top.ran=1">`, payload: {} }, 500),
    ...hostilePictures(trap),
  ];
}

/** Lines that are no events, among which the others must be found. */
export const NONSENSE = [
  "",
  "not json",
  "[]",
  "null",
  '{"type":99,"data":{},"timestamp":1}',
  '{"type":3,"data":null,"timestamp":1,"tabId":"tab"}',
  '{"type":3,"data":{"source":99},"timestamp":1e400,"tabId":"tab"}',
  `{"type":3,"data":{"source":99},"timestamp":${at + 10},"tabId":"tab"}`,
  `{"__proto__":{"ran":1},"type":3,"data":{"source":"x"},"timestamp":${at + 20},"tabId":"tab"}`,
  "[".repeat(100_000),
];

export const packed = (events: object[], more: string[] = []): Buffer =>
  gzipSync([...events.map((each) => JSON.stringify(each)), ...more].join("\n"));
