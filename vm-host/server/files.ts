import type { ServerResponse } from "node:http";
import { CHANNELS } from "@svc/contract/control-channel/binary-frame.ts";
import { GuestPath } from "@svc/contract/control-channel/file-methods.ts";
import { RpcError, refuse } from "@svc/contract/control-channel/rpc-error.ts";
import type { GuestRefused } from "@svc/contract/host-protocol/files.ts";
import { whenDrained } from "@svc/host-kit/drain.ts";
import { replyJson, replyText } from "@svc/host-kit/reply.ts";
import type { Vm } from "../machines/vm.ts";
import { replyAbsent, replyPaused } from "./broken-call.ts";
import type { VmCall } from "./call.ts";
import { Patience } from "./patience.ts";

/** What a refusal of the guest is to a caller of ours. */
const STATUSES: ReadonlyMap<string, number> = new Map(
  Object.entries({
    NotFound: 404,
    AlreadyExists: 400,
    Disconnected: 502,
    IsDirectory: 400,
    NotDirectory: 400,
    PermissionDenied: 400,
    InvalidPath: 400,
    NoSpace: 400,
    TooLarge: 400,
    Unsupported: 400,
  }),
);

/** GET /vms/:sandboxId/files?path=: the bytes of a file; 404 where there is none. */
export async function downloadFile(call: VmCall): Promise<void> {
  const { response } = call;
  await withFile(call, async (vm, path) => {
    const caller = new AbortController();
    response.once("close", () => caller.abort());
    const patience = new Patience(() => caller.abort());
    let sent = 0;
    const onBytes = async (channel: number, bytes: Uint8Array): Promise<void> => {
      if (channel !== CHANNELS.output || bytes.length === 0) return;
      patience.end();
      sent += bytes.length;
      begin(response);
      if (!response.write(bytes) && !response.destroyed) await whenDrained(response);
      patience.begin();
    };
    const { signal } = caller;
    patience.begin();
    const reading = vm.guest.files.call("files.read", { path }, { onBytes, signal });
    const { bytes } = await reading.result.finally(() => patience.end());
    if (bytes !== sent) throw refuse("Disconnected", `The file has ${bytes} bytes, ${sent} came.`);
    begin(response);
    response.end();
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
    // A refusal ends the writing below; it is thrown from the result.
    result.catch(() => null);
    for await (const chunk of request) {
      patience.begin();
      const isOpen = await stream.write(CHANNELS.input, Buffer.from(chunk));
      patience.end();
      if (!isOpen) break;
    }
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
    // After the first bytes there is no status left to say it with.
    if (response.headersSent) response.destroy();
    else if (!(await replyPaused(response, vm, error))) replyRefusal(response, error);
  } finally {
    over();
  }
}

function replyRefusal(response: ServerResponse, error: unknown): void {
  if (!(error instanceof RpcError)) throw error;
  const code = error.data?.code ?? "";
  const body: GuestRefused = { error: error.message, code };
  replyJson(response, STATUSES.get(code) ?? 502, body);
}

function begin(response: ServerResponse): void {
  if (!response.headersSent)
    response.writeHead(200, { "content-type": "application/octet-stream" });
}
