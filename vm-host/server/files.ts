import type { ServerResponse } from "node:http";
import { CHANNELS } from "@svc/contract/control-channel/binary-frame.ts";
import { GuestPath } from "@svc/contract/control-channel/file-methods.ts";
import { RPC_CODES, RpcError } from "@svc/contract/control-channel/rpc-error.ts";
import { type GuestRefused, REFUSED_HEADER } from "@svc/contract/host-protocol/files.ts";
import { replyJson, replyText } from "@svc/host-kit/reply.ts";
import type { Vm } from "../machines/vm.ts";
import { replyAbsent, replyPaused } from "./broken-call.ts";
import type { VmCall } from "./call.ts";
import { eachChunk } from "@svc/host-kit/each-chunk.ts";
import { FileReader, describe } from "./file-reader.ts";
import { Patience } from "./patience.ts";
import { partOf } from "@svc/host-kit/range.ts";

/** Refusals of a guest that are not final: nobody answers for its files at this time. */
const PASSING = ["Disconnected", "Busy", "NotRunning"];

/** GET and HEAD /vms/:sandboxId/files?path=: the bytes of a file, or one range of them; 404 where there is none. */
export async function downloadFile(call: VmCall): Promise<void> {
  const { request, response } = call;
  await withFile(call, async (vm, path) => {
    const caller = new AbortController();
    response.once("close", () => caller.abort());
    const reader = new FileReader(vm.guest.files, path, caller);
    const file = await reader.look();
    const headers = describe(file);
    if (request.method === "HEAD") {
      response.writeHead(200, headers).end();
      return;
    }
    const { range, "if-range": ifRange } = request.headers;
    const isSame = ifRange === undefined || ifRange === headers.etag;
    const part = partOf(isSame ? range : undefined, file.size);
    if (part) return reader.send(response, file, part);
    replyNoRange(response, file.size);
  });
}

/** PUT /vms/:sandboxId/files?path=: replaces a file, making its folders. */
export async function uploadFile(call: VmCall): Promise<void> {
  const { request, response } = call;
  await withFile(call, async (vm, path) => {
    const caller = new AbortController();
    const { signal } = caller;
    request.once("aborted", () => caller.abort());
    const patience = new Patience(() => caller.abort());
    const { stream, result } = vm.guest.files.call("files.write", { path }, { signal });
    const write = async (chunk: Buffer): Promise<boolean> => {
      patience.begin();
      return stream.write(CHANNELS.input, chunk).finally(() => patience.end());
    };
    // A machine that refuses or dies is heard at once, also while the client sends nothing.
    const settled = result.then(
      () => undefined,
      () => undefined,
    );
    await eachChunk(request, write, settled);
    stream.end(CHANNELS.input);
    patience.begin();
    const { bytes } = await result.finally(() => patience.end());
    replyJson(response, 200, { ok: true, path, bytes });
  });
}

async function withFile(
  call: VmCall,
  work: (vm: Vm, path: string) => Promise<void>,
): Promise<void> {
  const { vms, id, rest, request, response } = call;
  const path = GuestPath.safeParse(new URL(rest, "http://host/").searchParams.get("path"));
  if (!path.success) return replyText(response, 400, "Malformed path\n");
  const vm = vms.get(id);
  if (!vm) return replyAbsent(call);
  const over = vm.begin();
  try {
    await work(vm, path.data);
  } catch (error) {
    request.resume();
    // A client that broke off hears nothing, and after the first bytes there is no status left to say it with.
    if (request.errored || response.headersSent) response.destroy();
    else if (!(await replyPaused(response, vm, error))) replyRefusal(response, error);
  } finally {
    over();
  }
}

function replyRefusal(response: ServerResponse, error: unknown): void {
  if (!(error instanceof RpcError)) throw error;
  const code = error.data?.code ?? "";
  const body: GuestRefused = { error: error.message, code };
  response.setHeader(REFUSED_HEADER, code.replaceAll(/[^\w-]/g, ""));
  replyJson(response, statusOf(error, code), body);
}

function statusOf(error: RpcError, code: string): number {
  if (error.code === RPC_CODES.params) return 400;
  if (error.code !== RPC_CODES.refused || PASSING.includes(code)) return 502;
  return code === "NotFound" ? 404 : 400;
}

function replyNoRange(response: ServerResponse, size: number): void {
  response.setHeader("content-range", `bytes */${size}`);
  replyText(response, 416, "The file ends before this range\n");
}
