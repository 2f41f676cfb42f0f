import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import * as z from "zod";
import { REFUSED_HEADER } from "@svc/contract/host-protocol/files.ts";
import { partOf } from "@svc/host-kit/range.ts";
import { send } from "./pool.ts";

/** How files are answered: `cut`, half of a download and no more; the rest are refusals and faults of a host. */
export const FakeFilesMode = z.enum([
  "ok",
  "cut",
  "drop",
  "fault",
  "away",
  "directory",
  "full",
  "missing",
  "paused",
  "odd",
]);
export type FakeFilesMode = z.infer<typeof FakeFilesMode>;

const REFUSALS: Partial<Record<FakeFilesMode, [number, string]>> = {
  fault: [500, "a bug"],
  away: [502, '{"error":"The machine is gone.","code":"Disconnected"}'],
  directory: [400, '{"error":"/x: it is a directory","code":"IsDirectory"}'],
  full: [400, '{"error":"/x: the disk is full","code":"NoSpace"}'],
  missing: [404, "No such machine\n"],
  paused: [409, '{"error":"The sandbox is paused.","code":"Paused"}'],
  odd: [200, "{}"],
};

/**
 * Files of a guest, in memory. What is cut on its way is kept as far as it came, under its name and
 * `.cut`. It says `began` with each upload's first bytes, `done` and `cut` with its path.
 */
export class FakeFiles extends EventEmitter<Record<"began" | "done" | "cut", [path: string]>> {
  readonly #files = new Map<string, Buffer>();

  sizes(): [string, number][] {
    return [...this.#files].map(([path, bytes]) => [path, bytes.length]);
  }

  get(path: string): Buffer | undefined {
    return this.#files.get(path);
  }

  set(path: string, bytes: Buffer): void {
    this.#files.set(path, bytes);
  }

  async answer(
    mode: FakeFilesMode,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const path = new URL(request.url ?? "", "http://host").searchParams.get("path") ?? "";
    const refusal = REFUSALS[mode];
    if (mode === "drop") return void response.destroy();
    if (refusal) {
      request.resume();
      return refuse(response, ...refusal);
    }
    if (request.method === "PUT") return this.#write(path, request, response);
    const bytes = this.#files.get(path);
    if (!bytes) {
      const error = `${path}: there is no such file or directory`;
      return refuse(response, 404, JSON.stringify({ error, code: "NotFound" }));
    }
    const part = partOf(
      request.method === "HEAD" ? undefined : request.headers.range,
      bytes.length,
    );
    if (!part) {
      response.setHeader("content-range", `bytes */${bytes.length}`);
      return send(response, 416, "no such range");
    }
    const { isWhole, offset, length } = part;
    const last = offset + length - 1;
    response.writeHead(isWhole ? 200 : 206, {
      "content-type": "application/octet-stream",
      "accept-ranges": "bytes",
      "content-length": length,
      ...(!isWhole && { "content-range": `bytes ${offset}-${last}/${bytes.length}` }),
    });
    const sent = bytes.subarray(offset, offset + length);
    if (mode === "ok") return void response.end(sent);
    response.write(sent.subarray(0, length / 2), () => response.destroy());
  }

  async #write(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    try {
      for await (const part of request) {
        parts.push(Buffer.from(part));
        if (parts.length === 1) this.emit("began", path);
      }
    } catch {
      this.#files.set(`${path}.cut`, Buffer.concat(parts));
      return void this.emit("cut", path);
    }
    const bytes = Buffer.concat(parts);
    this.#files.set(path, bytes);
    this.emit("done", path);
    send(response, 200, JSON.stringify({ ok: true, path, bytes: bytes.length }));
  }
}

/** A refusal as hosts send it: its code is a header, too. */
function refuse(response: ServerResponse, status: number, body: string): void {
  const code = /"code":"(\w+)"/.exec(body)?.[1];
  if (code !== undefined) response.setHeader(REFUSED_HEADER, code);
  send(response, status, body);
}
