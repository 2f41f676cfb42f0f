import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { AskObject, CompleteObject, type ObjectName } from "@svc/contract/host-protocol/objects.ts";
import { LIMITS } from "@svc/contract/limits.ts";

/** An object store behind a gateway as hosts see it: by signed URLs, in parts, by ranges. It lies in memory. */
export class Objects {
  readonly stored = new Map<string, Buffer>();
  /** It answers nothing but 503. */
  isAway = false;
  /** It never answers. */
  isSilent = false;
  /** How many calls were answered so. */
  refused = 0;
  /** What of it is held on its way in, until `letGo`; it has come whole. */
  holds: (key: string) => boolean = () => false;
  /** Keys that are held. */
  readonly held: string[] = [];
  #letGo = Promise.withResolvers<void>();
  /** Objects that were asked for to be read. */
  readonly reads: string[] = [];
  readonly #parts = new Map<string, Buffer[]>();
  readonly #watchers = new Set<() => void>();

  /** Answers a call for an object; false for any other. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const url = new URL(request.url ?? "", `http://${request.headers.host}`);
    if (!/^\/(internal\/objects$|objects\/)/.test(url.pathname)) return false;
    const body = await buffer(request);
    if (this.isSilent) return true;
    if (this.isAway) this.#refuse(response);
    else if (url.pathname === "/internal/objects") this.#ask(url, body, response);
    else if (request.method === "GET") this.#get(url, request.headers.range, response);
    else await this.#takeInTime(url, body, response);
    this.#tell();
    return true;
  }

  /** What is held goes on. */
  letGo(): void {
    this.holds = () => false;
    this.held.length = 0;
    this.#letGo.resolve();
    this.#letGo = Promise.withResolvers();
  }

  #tell(): void {
    for (const watcher of this.#watchers) watcher();
  }

  async #takeInTime(url: URL, body: Buffer, response: ServerResponse): Promise<void> {
    const key = url.searchParams.get("key") ?? "";
    if (this.holds(key)) {
      this.held.push(key);
      this.#tell();
      await this.#letGo.promise;
    }
    this.#take(url, body, response);
  }

  /** Keys that begin like this. */
  keys(prefix: string): string[] {
    return [...this.stored.keys()].filter((key) => key.startsWith(prefix)).toSorted();
  }

  /** Waits until what lies there is as wanted. */
  until(isWanted: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!isWanted()) return;
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
      look();
    });
  }

  #refuse(response: ServerResponse): void {
    this.refused += 1;
    response.writeHead(503).end();
  }

  #ask(url: URL, body: Buffer, response: ServerResponse): void {
    const asked = AskObject.parse(JSON.parse(body.toString()));
    const { object, sizeBytes, ifEtag, delete: isToGo } = asked;
    const key = keyOf(object);
    const condition = ifEtag === undefined ? "" : `&if=${ifEtag}`;
    const at = (act: string): string => new URL(`/objects/${act}?key=${key}${condition}`, url).href;
    const reply = (urls: object): void =>
      void response.writeHead(200).end(JSON.stringify({ expiresInSeconds: 3600, ...urls }));
    if (isToGo) {
      this.stored.delete(key);
      return reply({});
    }
    if (sizeBytes === undefined) {
      this.reads.push(key);
      const found = this.stored.get(key);
      if (!found) return void response.writeHead(404).end();
      return reply({ get: at("get"), sizeBytes: found.length, etag: etagOf(found) });
    }
    const most = LIMITS.objectPartBytes;
    if (sizeBytes <= most) return reply({ put: at("put") });
    const count = Math.ceil(sizeBytes / most);
    this.#parts.set(key, Array.from({ length: count }));
    const parts = Array.from({ length: count }, (_, part) => ({
      url: at(`part-${part}`),
      bytes: Math.min(most, sizeBytes - part * most),
    }));
    reply({ parts, complete: at("complete") });
  }

  #get(url: URL, range: string | undefined, response: ServerResponse): void {
    const found = this.stored.get(url.searchParams.get("key") ?? "");
    if (!found) return void response.writeHead(404).end();
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(range ?? "") ?? [];
    if (from === undefined) return void response.writeHead(200).end(found);
    response.writeHead(206).end(found.subarray(Number(from), Number(to) + 1));
  }

  #take(url: URL, body: Buffer, response: ServerResponse): void {
    const key = url.searchParams.get("key") ?? "";
    const act = url.pathname.slice("/objects/".length);
    const parts = this.#parts.get(key) ?? [];
    const before = this.stored.get(key);
    const condition = url.searchParams.get("if");
    // null stands for none.
    if (condition !== null && condition !== (before ? etagOf(before) : "null"))
      return void response.writeHead(412).end();
    if (act === "put") this.stored.set(key, body);
    else if (act === "complete") {
      const { etags } = CompleteObject.parse(JSON.parse(body.toString()));
      if (etags.length !== parts.length || parts.includes(undefined as never))
        return void response.writeHead(409).end();
      this.stored.set(key, Buffer.concat(parts));
    } else parts[Number(act.slice("part-".length))] = body;
    response.writeHead(200).end(JSON.stringify({ etag: "etag" }));
  }
}

const etagOf = (bytes: Buffer): string => createHash("md5").update(bytes).digest("hex");

function keyOf(object: ObjectName): string {
  const { purpose, ...rest } = object;
  return [purpose, ...Object.values(rest)].join("/");
}
