import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { SessionFileName, type SessionFileStored } from "@svc/contract/browser/session-file.ts";
import {
  SLOT_FILE_HEADER,
  type SlotFileRefusal,
  type SlotFiles,
} from "@svc/contract/host-protocol/slot-files.ts";
import { type Part, partOf } from "@svc/host-kit/range.ts";
import { replyJson, replyText } from "@svc/host-kit/reply.ts";
import type { OpenFile, SessionFiles } from "../files/session-files.ts";
import type { SlotCall } from "./call.ts";

const STATUSES: Record<SlotFileRefusal, number> = {
  missing: 404,
  ended: 404,
  inProgress: 409,
  overQuota: 409,
  tooLarge: 413,
  busy: 503,
};

/** GET /slots/:sessionId/files: the list, or with `?name=` the bytes of one file or a range of them. Also HEAD. */
export async function readFiles(call: SlotCall): Promise<void> {
  const { response } = call;
  const files = filesOf(call);
  if (!files) return replyText(response, 404, "No such session\n");
  const name = nameOf(call);
  if (name === null)
    return replyJson(response, 200, { files: await files.list() } satisfies SlotFiles);
  const file = await files.read(name);
  if ("refused" in file) return refuse(response, file.refused);
  try {
    const isSent = await files.transfer(() => send(call, files, file));
    if (isSent === null) refuse(response, "busy");
  } finally {
    await file.handle.close();
  }
}

/** PUT /slots/:sessionId/files?name=: an upload, in the place of a file of that name. */
export async function writeFile(call: SlotCall): Promise<void> {
  const { request, response } = call;
  const files = filesOf(call);
  if (!files) return replyText(response, 404, "No such session\n");
  const name = SessionFileName.safeParse(nameOf(call)).data;
  if (name === undefined) return replyText(response, 400, "Malformed name\n");
  try {
    const stored = (await files.transfer(() => files.write(name, request))) ?? busy;
    // What is left of a body that is not wanted goes nowhere.
    request.resume();
    if ("refused" in stored) return refuse(response, stored.refused);
    replyJson(response, 200, { ok: true, name, ...stored } satisfies SessionFileStored);
  } catch (error) {
    // The gateway has broken off, and hears nothing.
    if (!request.errored) throw error;
    response.destroy();
  }
}

const busy = { refused: "busy" } as const;

const filesOf = ({ sessions, id }: SlotCall): SessionFiles | null =>
  sessions.get(id)?.slot.files ?? null;

const nameOf = ({ request }: SlotCall): string | null =>
  new URL(request.url ?? "", "http://host/").searchParams.get("name");

async function send({ request, response }: SlotCall, files: SessionFiles, file: OpenFile) {
  const { size, etag, handle } = file;
  const headers = { "content-type": "application/octet-stream", "accept-ranges": "bytes", etag };
  const { range, "if-range": ifRange } = request.headers;
  const part = partOf(ifRange === undefined || ifRange === etag ? range : undefined, size);
  if (!part) {
    response.setHeader("content-range", `bytes */${size}`);
    return replyText(response, 416, "The file ends before this range\n");
  }
  response.writeHead(part.isWhole ? 200 : 206, { ...headers, ...lengthOf(part, size) });
  if (request.method === "HEAD" || part.length === 0) return void response.end();
  const { offset: start, length } = part;
  const bytes = handle.createReadStream({ start, end: start + length - 1, autoClose: false });
  // A session that ends, and a caller that leaves, break the answer off: it is never whole by mistake.
  await pipeline(bytes, response, { signal: files.ended }).catch(() => response.destroy());
}

function lengthOf({ isWhole, offset, length }: Part, size: number): Record<string, string> {
  const told = { "content-length": String(length) };
  return isWhole
    ? told
    : { ...told, "content-range": `bytes ${offset}-${offset + length - 1}/${size}` };
}

function refuse(response: ServerResponse, refused: SlotFileRefusal): void {
  response.setHeader(SLOT_FILE_HEADER, refused);
  replyText(response, STATUSES[refused], `${refused}\n`);
}
