import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { AskObject, type ObjectUrls } from "@svc/contract/host-protocol/objects.ts";
import { replyJson, replyText } from "@svc/host-kit/reply.ts";

/** The object store of a gateway as hosts see it, in memory. Several gateways may have one. */
export class ObjectsDouble {
  readonly objects = new Map<string, Buffer>();
  /** `down`: refuses everything; `hang`: never answers. */
  mode: "ok" | "down" | "hang" = "ok";
  readonly #watchers = new Set<() => void>();

  /** Answers a call that is for the store; false for any other. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const url = request.url ?? "";
    if (url !== "/internal/objects" && !url.startsWith("/objects/")) return false;
    const body = await buffer(request);
    if (this.mode === "hang") return true;
    if (this.mode === "down") replyText(response, 503);
    else if (request.method === "POST") this.#ask(request, body, response);
    else if (request.method === "PUT") this.#put(keyIn(url), body, response);
    else this.#get(keyIn(url), request, response);
    return true;
  }

  /** Names of what is stored of a volume. */
  of(volumeId: string): string[] {
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(`${volumeId}/`));
    return keys.map((key) => key.slice(volumeId.length + 1)).toSorted();
  }

  /** Its manifest, once it is as wanted. */
  async manifest(
    volumeId: string,
    isWanted: (manifest: Manifest) => boolean = () => true,
  ): Promise<Manifest> {
    for (;;) {
      const bytes = this.objects.get(`${volumeId}/manifest.json`);
      const manifest: Manifest | null = bytes ? JSON.parse(bytes.toString()) : null;
      if (manifest && isWanted(manifest)) return manifest;
      await new Promise<void>((resolve) => {
        const look = (): void => {
          this.#watchers.delete(look);
          resolve();
        };
        this.#watchers.add(look);
      });
    }
  }

  #ask(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
    const { object, sizeBytes } = AskObject.parse(JSON.parse(body.toString()));
    const parts = Object.values(object).slice(1);
    const key = object.purpose === "volume" ? parts.join("/") : Object.values(object).join("/");
    const url = `http://${request.headers.host}/objects/${encodeURIComponent(key)}`;
    const expiresInSeconds = 3600;
    if (sizeBytes !== undefined) {
      const urls: ObjectUrls = { expiresInSeconds, put: url };
      return replyJson(response, 200, urls);
    }
    const stored = this.objects.get(key);
    if (!stored) return replyText(response, 404);
    const urls: ObjectUrls = { expiresInSeconds, get: url, sizeBytes: stored.length };
    replyJson(response, 200, urls);
  }

  #put(key: string, body: Buffer, response: ServerResponse): void {
    this.objects.set(key, body);
    replyJson(response, 200, { etag: "1" });
    for (const watcher of this.#watchers) watcher();
  }

  #get(key: string, request: IncomingMessage, response: ServerResponse): void {
    const stored = this.objects.get(key);
    if (!stored) return replyText(response, 404);
    const [, first = "0", last = ""] =
      /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "") ?? [];
    const end = last === "" ? stored.length : Number(last) + 1;
    response.writeHead(206).end(stored.subarray(Number(first), end));
  }
}

export interface Manifest {
  epoch: number;
  hostId: string;
  isOpen: boolean;
  chunks: Record<string, string>;
}

const keyIn = (url: string): string => decodeURIComponent(url.slice("/objects/".length));
