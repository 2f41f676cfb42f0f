import { type IncomingMessage, request as httpRequest } from "node:http";
import { Socket } from "node:net";
import { trusted } from "../egress/guard.ts";
import type { WireHost } from "./host.ts";

const UPGRADE_MS = 10_000;

// No extensions: compressing for a client on the next hop costs more than it saves.
const PASSED = [
  "sec-websocket-key",
  "sec-websocket-version",
  "sec-websocket-protocol",
  "user-agent",
];

/** The socket of an upgrade that was answered with 101. */
export interface Upgraded {
  socket: Socket;
  head: Buffer;
  /** The answer's first lines, for the client. */
  response: string;
}

/** Repeats a client's upgrade at a wire host. */
export function upgradeAt(host: WireHost, request: IncomingMessage): Promise<Upgraded> {
  const headers: Record<string, string> = { connection: "Upgrade", upgrade: "websocket" };
  for (const name of PASSED) {
    const value = request.headers[name];
    if (typeof value === "string") headers[name] = value;
  }
  const { port, path } = host;
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path, headers, timeout: UPGRADE_MS };
    const upgrade = trusted(() => httpRequest(options));
    upgrade.once("timeout", () => upgrade.destroy(new Error("no answer to the upgrade")));
    upgrade.once("error", reject);
    upgrade.once("response", (response) => {
      response.resume();
      reject(new Error(`the wire host answered ${response.statusCode}`));
    });
    upgrade.once("upgrade", (response, socket, head) => {
      if (socket instanceof Socket) resolve({ socket, head, response: headOf(response) });
    });
    upgrade.end();
  });
}

function headOf(response: IncomingMessage): string {
  const lines = [`HTTP/1.1 ${response.statusCode} ${response.statusMessage}`];
  for (let at = 0; at < response.rawHeaders.length; at += 2)
    lines.push(`${response.rawHeaders[at]}: ${response.rawHeaders[at + 1]}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}
