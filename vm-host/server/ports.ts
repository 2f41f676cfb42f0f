import { type IncomingMessage, request as httpRequest } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isRefused } from "@svc/contract/control-channel/rpc-error.ts";
import { refuseUpgrade, replyText } from "@svc/host-kit/reply.ts";
import type { VmCall } from "./front.ts";
import { headersForGateway, headersForGuest, OWN_ANSWER } from "./port-headers.ts";

const TOO_EARLY = 425;

/** What a machine is here: ports that can be reached, and a clock of its use. */
export interface PortVm {
  touch(): void;
  guest: { dial(port: number): Promise<Duplex> };
}

/** A call for a port, of whatever knows the machines. */
export type PortCall = Pick<VmCall, "id" | "rest" | "request" | "response"> & {
  vms: { get(id: string): PortVm | undefined };
};

/** ANY /vms/:sandboxId/ports/:port/…: a request to a server inside. 425 when nothing listens yet. */
export async function forwardRequest({
  vms,
  id,
  rest,
  request,
  response,
}: PortCall): Promise<void> {
  const vm = vms.get(id);
  if (!vm) return replyText(response, 404, "No such machine\n");
  const target = targetOf(rest);
  if (!target) return replyText(response, 400, "Malformed port\n");
  vm.touch();
  const socket = await dial(vm, target.port);
  if (typeof socket === "number") return replyText(response, socket, "The port does not answer\n");
  if (response.destroyed) return void socket.destroy();
  response.once("close", () => socket.destroy());
  try {
    const answer = await ask(socket, target, request);
    response.writeHead(
      answer.statusCode ?? 502,
      answer.statusMessage,
      headersForGateway(answer.rawHeaders),
    );
    await pipeline(answer, response);
  } catch {
    if (response.headersSent) response.destroy();
    else replyText(response, 502, "The server inside broke off\n");
  } finally {
    vm.touch();
  }
}

/** The same for an upgrade: its answer and everything after it pass byte by byte. */
export async function forwardUpgrade(
  vm: PortVm,
  rest: string,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): Promise<void> {
  const target = targetOf(rest);
  if (!target) return refuseUpgrade(socket, 400, "Malformed port\n", OWN_ANSWER);
  vm.touch();
  const inside = await dial(vm, target.port);
  if (typeof inside === "number")
    return refuseUpgrade(socket, inside, "The port does not answer\n", OWN_ANSWER);
  inside.write(headOf(request, target.path));
  if (head.length > 0) inside.write(head);
  socket.on("data", () => vm.touch());
  await Promise.all([pipeline(socket, inside), pipeline(inside, socket)]).catch(() => null);
  inside.destroy();
  socket.destroy();
}

interface Target {
  port: number;
  path: string;
}

/** `ports/8000/a?b` as port and path. */
function targetOf(rest: string): Target | null {
  const [, digits, path = ""] = /^ports\/(\d{1,5})(?:\/(.*))?$/s.exec(rest) ?? [];
  const port = Number(digits);
  return port >= 1 && port <= 65_535 ? { port, path: `/${path}` } : null;
}

async function dial(vm: PortVm, port: number): Promise<Duplex | number> {
  try {
    return await vm.guest.dial(port);
  } catch (error) {
    return isRefused(error, "ConnectionRefused") ? TOO_EARLY : 502;
  }
}

function ask(socket: Duplex, target: Target, request: IncomingMessage) {
  const options = {
    // Node's client writes to whatever stream it is given.
    createConnection: () => socket,
    method: request.method,
    path: target.path,
    headers: headersForGuest(request.rawHeaders),
  };
  return new Promise<IncomingMessage>((resolve, reject) => {
    const asked = httpRequest(options, resolve);
    asked.on("error", reject);
    request.pipe(asked);
    request.once("aborted", () => asked.destroy());
  });
}

function headOf(request: IncomingMessage, path: string): string {
  const lines = [`${request.method} ${path} HTTP/1.1`, "Connection: Upgrade"];
  const { upgrade } = request.headers;
  if (upgrade !== undefined) lines.push(`Upgrade: ${upgrade}`);
  const headers = headersForGuest(request.rawHeaders);
  for (let at = 0; at + 1 < headers.length; at += 2)
    lines.push(`${headers[at]}: ${headers[at + 1]}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}
