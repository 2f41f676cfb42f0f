import { once } from "node:events";
import { type RequestOptions, request } from "node:http";
import { WebSocket } from "ws";
import { newSelf } from "../../../vm-host/guest/identity.ts";
import type { Vm } from "../../../vm-host/machines/vm.ts";
import { ShareGuest, ShareMachine } from "../../../vm-host/shared/share-machine.ts";
import type { Bed } from "./bed.ts";

/** One request to a hostile machine, by its number, which the agent finds in it. Aborted when the agent has said all. */
export type Ask = (bed: Bed, vm: Vm, number: number, over: AbortSignal) => Promise<unknown>;

const ID = "hostile";
const WHOLE = 2_000;
const DOWN = 0;
const UP = 1;
/** As long as a share may take to say who it is. */
const SHARE_MS = 1_000;

/** What can be asked of a machine that goes on while its agent speaks. */
export const STREAMS: Record<string, Ask> = {
  preview: (bed, _vm, number, over) =>
    number % 4 === 0
      ? upgraded(bed, `ports/${number}/`, over)
      : called(bed, `ports/${number}/`, { method: number % 4 === 1 ? "POST" : "GET" }, over),
  exec: (bed, _vm, number, over) => {
    const body = JSON.stringify({
      cmd: String(number),
      ...(number % 3 === 0 && { timeoutMs: 50 }),
    });
    return called(bed, "exec", { method: "POST", body }, over);
  },
  file: (bed, _vm, number, over) =>
    called(bed, `files?path=/${number}`, number % 2 === DOWN ? {} : upload, over),
  watch: (bed, _vm, number, over) =>
    controlled(bed, { id: UP, method: "files.watch", params: { path: `/${number}` } }, over),
  pty: (bed, _vm, number, over) =>
    controlled(bed, { id: UP, method: "pty.attach", params: { id: `pty_${number}` } }, over),
  share: shared,
};

/** The number of a case, from what was asked. */
export function numberOf({ port, cmd, path, id }: Record<string, unknown>): number {
  const [number] = [port, cmd, path, id].flatMap((word) => /\d+$/.exec(String(word)) ?? []);
  return Number(number);
}

const upload: RequestInit = { method: "PUT", body: "x".repeat(WHOLE) };

async function called(bed: Bed, rest: string, init: RequestInit, signal: AbortSignal) {
  const { url, headers } = await bed.call(ID, rest);
  const body = init.method === "POST" ? { body: init.body ?? "a body" } : {};
  const response = await fetch(url, { ...init, ...body, headers, signal });
  return response.arrayBuffer();
}

async function upgraded(bed: Bed, rest: string, over: AbortSignal): Promise<void> {
  const { url, headers } = await bed.call(ID, rest);
  const options: RequestOptions = { headers: { ...headers, connection: "Upgrade", upgrade: "x" } };
  const asked = request(url, { ...options, signal: over });
  asked.on("error", () => {});
  asked.on("upgrade", (_answer, socket) => {
    socket.on("error", () => {});
    socket.resume();
    socket.write("words of the customer");
    over.addEventListener("abort", () => socket.destroy());
  });
  asked.on("response", (response) => {
    response.on("error", () => {});
    response.resume();
  });
  asked.end();
  await once(asked, "close");
}

async function controlled(bed: Bed, call: object, over: AbortSignal): Promise<void> {
  const { url, headers } = await bed.call(ID, "control");
  const socket = new WebSocket(url, { headers });
  // A text that is no text ends the client's side.
  socket.on("error", () => {});
  socket.on("open", () => socket.send(JSON.stringify({ jsonrpc: "2.0", ...call })));
  over.addEventListener("abort", () => socket.close());
  await once(socket, "close");
}

async function shared(_bed: Bed, vm: Vm, number: number, over: AbortSignal): Promise<void> {
  const id = `s${String(number).padStart(12, "0")}`;
  const spec = { id, hostname: "share", cpu: 1, memMb: 128, diskGb: 1 };
  const around = { spec: vm.machine.spec, guest: vm.guest, onEnd: async () => {} };
  const machine = new ShareMachine(spec, around);
  over.addEventListener("abort", () => machine.leave());
  try {
    const guest = new ShareGuest(machine, vm.guest);
    await guest.identify(newSelf({ envs: {}, hasNetwork: true }), SHARE_MS);
    await guest.exec({ cmd: "true" });
  } finally {
    machine.leave();
  }
}
