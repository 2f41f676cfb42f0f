import { ToolError } from "../tool.ts";
import type { Frame } from "./frame.ts";
import { SIZE } from "./scripts.ts";

interface Value {
  value?: unknown;
}

interface Node {
  nodeId: string;
  ignored: boolean;
  role?: Value;
  name?: Value;
  value?: Value;
  properties?: { name: string; value: Value }[];
  childIds?: string[];
  parentId?: string;
  backendDOMNodeId?: number;
}

/** Roles without a meaning of their own: their children stand in their place. */
const PLAIN = new Set([
  "generic",
  "none",
  "InlineTextBox",
  "LineBreak",
  "RootWebArea",
  "ListMarker",
]);
/** Properties that a line shows. */
const STATES = ["checked", "disabled", "expanded", "pressed", "required", "selected", "level"];
const NAME_LENGTH = 500;
const MOST = { elements: 15_000, characters: 2_000_000 };
/** Pages that are nested deeper are so on purpose. */
const DEEPEST = 2_000;

/** A frame's accessibility tree as lines, with the frames in it. `root`: only what is in that node. */
export async function snapshotOf(frame: Frame, root?: number): Promise<string> {
  const { stamp } = await sizeOf(frame);
  const { nodes } = await frame.attached.send("Accessibility.getFullAXTree", {
    frameId: frame.frameId,
  });
  const tree = new Tree(nodes as Node[]);
  const first = root === undefined ? tree.root : tree.of(root);
  if (!first) return "";
  const lines = new Lines(tree, (node) => frame.refOf(node, stamp));
  lines.add(first, 0, "");
  const inner = await Promise.all(lines.frames.map(({ node }) => insideOf(frame, node)));
  let added = 0;
  lines.frames.forEach(({ at, depth }, index) => {
    const text = inner[index] ?? "";
    if (text === "") return;
    const shifted = text.split("\n").map((line) => "  ".repeat(depth) + line);
    lines.all.splice(at + added, 0, ...shifted);
    added += shifted.length;
  });
  return lines.all.join("\n");
}

/** The tree comes as a whole, about a thousand bytes for each element. */
async function sizeOf(frame: Frame): Promise<{ stamp: number }> {
  type Size = typeof MOST & { stamp: number };
  const { elements, characters, stamp } = await frame.attached.run<Size>(SIZE, frame);
  if (elements <= MOST.elements && characters <= MOST.characters) return { stamp };
  throw new ToolError(
    "PageTooLarge",
    `The page is too large for a snapshot: ${elements} elements and ${characters} characters, of which ${MOST.elements} and ${MOST.characters} are taken. Read it with format=text, links or html, and click by CSS selector.`,
  );
}

/** A frame that is gone meanwhile, that is too large, or whose process is, has no lines. */
async function insideOf(frame: Frame, node: number): Promise<string> {
  try {
    const inner = await frame.inside(node);
    return inner ? await snapshotOf(inner) : "";
  } catch {
    frame.attached.signal.throwIfAborted();
    return "";
  }
}

class Tree {
  readonly #nodes: ReadonlyMap<string, Node>;
  readonly #all: readonly Node[];

  constructor(all: readonly Node[]) {
    this.#all = all;
    this.#nodes = new Map(all.map((node) => [node.nodeId, node]));
  }

  get root(): Node | undefined {
    return this.#all[0];
  }

  of(backendNodeId: number): Node | undefined {
    return this.#all.find((node) => node.backendDOMNodeId === backendNodeId);
  }

  childrenOf(node: Node): Node[] {
    return (node.childIds ?? []).flatMap((id) => this.#nodes.get(id) ?? []);
  }
}

class Lines {
  readonly all: string[] = [];
  /** Elements that hold frames, and where the frames' lines belong. */
  readonly frames: { node: number; at: number; depth: number }[] = [];
  readonly #tree: Tree;
  readonly #refOf: (node: number) => string;

  constructor(tree: Tree, refOf: (node: number) => string) {
    this.#tree = tree;
    this.#refOf = refOf;
  }

  add(node: Node, depth: number, above: string, level = 0): void {
    if (level > DEEPEST) return;
    const role = textOf(node.role);
    const name = textOf(node.name);
    const isText = role === "StaticText" || role === "LabelText";
    // A text that repeats the name above it says nothing new.
    if (role === "StaticText" && (name === "" || above.includes(name))) return;
    const isShown = !node.ignored && !(PLAIN.has(role) && name === "");
    if (isShown && !PLAIN.has(role))
      this.all.push("  ".repeat(depth) + this.#line(node, role, name, isText));
    const inner = isShown && !PLAIN.has(role) ? depth + 1 : depth;
    if (role === "Iframe" && node.backendDOMNodeId !== undefined) {
      this.frames.push({ node: node.backendDOMNodeId, at: this.all.length, depth: inner });
      return;
    }
    if (role === "StaticText") return;
    const heard = isShown && name !== "" ? name : above;
    for (const child of this.#tree.childrenOf(node)) this.add(child, inner, heard, level + 1);
  }

  #line(node: Node, role: string, name: string, isText: boolean): string {
    if (role === "StaticText") return `- text: ${name}`;
    const words = [`- ${isText ? "label" : role}`];
    if (name !== "") words.push(JSON.stringify(name));
    const value = textOf(node.value);
    if (value !== "" && value !== name) words.push(`value=${JSON.stringify(value)}`);
    words.push(...statesOf(node));
    if (node.backendDOMNodeId !== undefined)
      words.push(`[ref=${this.#refOf(node.backendDOMNodeId)}]`);
    return words.join(" ");
  }
}

function statesOf({ properties = [] }: Node): string[] {
  return properties.flatMap(({ name, value: { value } }) => {
    if (name === "focused" && value === true) return ["[focused]"];
    if (!STATES.includes(name) || value === undefined || value === false || value === "false")
      return [];
    return [
      value === true || value === "true" ? `[${name}]` : `[${name}=${JSON.stringify(value)}]`,
    ];
  });
}

function textOf(value: Value | undefined): string {
  const text = value?.value;
  if (typeof text !== "string" && typeof text !== "number") return "";
  const flat = String(text).replace(/\s+/g, " ").trim();
  return flat.length > NAME_LENGTH ? `${flat.slice(0, NAME_LENGTH)}…` : flat;
}
