import { setImmediate as nextTurn } from "node:timers/promises";
import { LIMITS } from "@svc/contract/limits.ts";
import * as z from "zod";
import { absoluteAttribute, absoluteCss } from "./absolute.ts";
import { BASE, CSS, FLAG, STILL, TOKEN } from "./still-script.ts";

/** Others have their turn after so many tokens. */
const SLICE = 2_000;
const META = 4;
const FULL = 2;
const INCREMENT = 3;

const Still = z.tuple([
  z.literal(STILL),
  z.number(),
  z.string(),
  z.string(),
  z.tuple([z.number(), z.number(), z.number(), z.number()]),
  // Each is looked at when it is its turn.
  z.custom<unknown[]>(Array.isArray),
]);

const HEAD = `["${STILL}",`;

/** Whether a line of a page script is a still. */
export const isStill = (line: string): boolean => line.startsWith(HEAD);

/** The events of rrweb that say what a still does; none of one that is damaged or too long. */
export async function eventsOf(line: string): Promise<string[]> {
  // What waits for the line goes first: a page that is to go elsewhere.
  await nextTurn();
  try {
    return await unpack(Still.parse(JSON.parse(line)));
  } catch {
    return [];
  }
}

async function unpack(still: z.infer<typeof Still>): Promise<string[]> {
  const [, timestamp, href, base, [width, height, left, top], tokens] = still;
  const event = (type: number, data: string, at = timestamp): string =>
    `{"type":${type},"data":${data},"timestamp":${at}}`;
  const [whole, ...framed] = await new Trees(tokens, base).read();
  if (!whole) return [];
  return [
    // A track that takes no time at all cannot be played.
    event(META, JSON.stringify({ href, width, height }), timestamp - 1),
    event(FULL, `{"node":${whole.node},"initialOffset":${JSON.stringify({ left, top })}}`),
    ...framed.map(({ parentId, node }) => event(INCREMENT, attachment(parentId, node))),
  ];
}

/** How rrweb says that a document is in a frame. */
const attachment = (parentId: number, node: string): string =>
  `{"source":0,"texts":[],"attributes":[],"removes":[],"isAttachIframe":true,"adds":[{"parentId":${parentId},"nextId":null,"node":${node}}]}`;

const json = (value: Token): string => JSON.stringify(value);

type Token = string | number | boolean;

const isToken = (value: unknown): value is Token =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean";

interface Tree {
  /** The frame; 0 of the page itself. */
  parentId: number;
  /** A node of rrweb, as JSON. */
  node: string;
}

/** Writes nodes as JSON, one after the other: documents are as deep as their pages like. */
class Trees {
  readonly #tokens: unknown[];
  readonly #base: string;
  #at = 0;
  #id = 0;
  #parts: string[] = [];
  /** What ends each node that is open. */
  #open: string[] = [];
  #isFirst = true;
  #isShadow = false;
  /** The document that nodes are in, where that is not the page itself. */
  #root = "";
  #size = 0;

  constructor(tokens: unknown[], base: string) {
    this.#tokens = tokens;
    this.#base = base;
  }

  async read(): Promise<Tree[]> {
    const trees: Tree[] = [];
    let parentId = 0;
    for (let turn = 1; this.#at < this.#tokens.length; turn += 1) {
      const token = this.#next();
      if (token === TOKEN.frame) parentId = Number(this.#next());
      else this.#take(token);
      if (token === TOKEN.close && this.#open.length === 0) {
        trees.push({ parentId, node: this.#parts.join("") });
        this.#parts = [];
        this.#isFirst = true;
      }
      if (turn % SLICE === 0) await nextTurn();
    }
    return trees;
  }

  #next(): Token {
    const token = this.#tokens[this.#at++];
    return isToken(token) ? token : "";
  }

  #take(token: Token): void {
    switch (Number(token)) {
      case TOKEN.close:
        this.#parts.push(this.#open.pop() ?? "");
        this.#isFirst = false;
        return;
      case TOKEN.inShadow:
        this.#isShadow = true;
        return;
      case TOKEN.document:
        return this.#document(this.#next());
      case TOKEN.element:
        return this.#element();
      case TOKEN.doctype: {
        const [name, publicId, systemId] = [this.#next(), this.#next(), this.#next()];
        return this.#leaf(`${JSON.stringify({ type: 1, name, publicId, systemId }).slice(0, -1)}`);
      }
      case TOKEN.cdata:
        return this.#leaf(`{"type":${TOKEN.cdata},"textContent":""`);
      case TOKEN.text:
      case TOKEN.comment:
        return this.#leaf(`{"type":${token},"textContent":${json(this.#next())}`);
    }
  }

  #document(mode: Token): void {
    // The page itself is the root of its nodes without saying so.
    const isPage = this.#id === 0;
    this.#root = "";
    this.#begin(mode === "BackCompat" ? '{"type":0,"compatMode":"BackCompat"' : '{"type":0');
    if (!isPage) this.#root = `,"rootId":${this.#id}`;
  }

  #element(): void {
    const name = String(this.#next());
    const flags = Number(this.#next());
    const attributes = this.#attributes(name, Number(this.#next()));
    const plain = name.toLowerCase();
    // What no document could be built of.
    const tagName = /[^a-z0-9-_:]/.test(plain) ? "div" : plain;
    const marks =
      (flags & FLAG.svg ? ',"isSVG":true' : "") +
      (flags & FLAG.custom ? ',"isCustom":true' : "") +
      (flags & FLAG.shadowHost ? ',"isShadowHost":true' : "");
    this.#begin(`{"type":2,"tagName":"${tagName}","attributes":{${attributes}}${marks}`);
  }

  #attributes(element: string, count: number): string {
    const pairs: string[] = [];
    let sheetBase = this.#base;
    for (let n = 0; n < count && this.#at < this.#tokens.length; n += 1) {
      const name = String(this.#next());
      const value = this.#next();
      if (name === BASE) sheetBase = String(value);
      else pairs.push(`${json(name)}:${json(this.#value(element, name, value, sheetBase))}`);
    }
    return pairs.join(",");
  }

  #value(element: string, name: string, value: Token, sheetBase: string): Token {
    if (typeof value !== "string") return value;
    if (name === CSS) return absoluteCss(value, sheetBase);
    return absoluteAttribute(element, name, value, this.#base);
  }

  #begin(head: string): void {
    this.#put(`${head}${this.#marks()},"childNodes":[`);
    this.#open.push("]}");
    this.#isFirst = true;
  }

  #leaf(head: string): void {
    this.#put(`${head}${this.#marks()}}`);
    this.#isFirst = false;
  }

  /** What every node has. */
  #marks(): string {
    this.#id += 1;
    const shadow = this.#isShadow ? ',"isShadow":true' : "";
    this.#isShadow = false;
    return `${this.#root}${shadow},"id":${this.#id}`;
  }

  #put(text: string): void {
    this.#size += text.length;
    // As much as the browser may say at once: elements of a few letters become many.
    if (this.#size > LIMITS.wireMessageBytes) throw new Error("the still is too long");
    this.#parts.push(this.#isFirst ? text : `,${text}`);
  }
}
