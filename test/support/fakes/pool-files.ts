import type { IncomingMessage, ServerResponse } from "node:http";
import { SLOT_FILE_HEADER, SlotFileRefusal } from "@svc/contract/host-protocol/slot-files.ts";
import { partOf } from "@svc/host-kit/range.ts";
import * as z from "zod";

/** How a fake pool answers for files: `ok`, `drop` (no answer), `cut` (half of one), or a refusal. */
export const FilesMode = z.enum(["ok", "drop", "cut", "fault", ...SlotFileRefusal.options]);
export type FilesMode = z.infer<typeof FilesMode>;

/** The files of all sessions of a fake pool, in memory. */
export class PoolFiles {
  readonly #files = new Map<string, Map<string, string>>();

  answer(mode: FilesMode, request: IncomingMessage, text: string, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://pool/");
    const name = searchParams.get("name");
    const own = this.#files.get(pathname) ?? new Map<string, string>();
    this.#files.set(pathname, own);
    if (mode === "drop") return void response.destroy();
    if (mode === "fault") return void response.writeHead(500).end();
    if (name === null) return json(response, { files: [...own].map(described) });
    if (mode !== "ok" && mode !== "cut") return refuse(response, mode);
    if (request.method !== "PUT") return read(request, response, own.get(name), mode);
    own.set(name, text);
    json(response, { ok: true, name, path: `/files/${name}`, bytes: Buffer.byteLength(text) });
  }
}

function described([name, text]: [string, string]): object {
  const bytes = Buffer.byteLength(text);
  const path = `/files/${name}`;
  return { name, bytes, source: "upload", state: "complete", at: 1, path };
}

function read(
  { headers }: IncomingMessage,
  response: ServerResponse,
  text: string | undefined,
  mode: FilesMode,
): void {
  if (text === undefined) return refuse(response, "missing");
  const bytes = Buffer.from(text);
  const part = partOf(headers.range, bytes.length);
  if (!part) {
    response.writeHead(416, { "content-range": `bytes */${bytes.length}` }).end();
    return;
  }
  const { offset, length } = part;
  const range = { "content-range": `bytes ${offset}-${offset + length - 1}/${bytes.length}` };
  const told = { "content-length": length, ...(!part.isWhole && range) };
  response.writeHead(part.isWhole ? 200 : 206, told);
  const sent = bytes.subarray(offset, offset + length);
  if (mode === "ok") return void response.end(sent);
  response.write(sent.subarray(0, length / 2), () => response.destroy());
}

function refuse(response: ServerResponse, why: FilesMode): void {
  response.writeHead(why === "missing" ? 404 : 409, { [SLOT_FILE_HEADER]: why }).end();
}

function json(response: ServerResponse, body: object): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
