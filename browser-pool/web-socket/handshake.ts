import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** Of RFC 6455, 4.2.2. */
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const KEY = /^[+/0-9A-Za-z]{22}==$/;
const VERSIONS = "13, 8";
/** Tell a client that is refused what it may ask for. */
export const UPGRADE_HEADERS = { "Sec-WebSocket-Version": VERSIONS };
const PROTOCOL = /^[\w!#$%&'*+.^`|~-]+$/;

/** Why an upgrade is none to a WebSocket, with a status; null when all is well. */
export function upgradeFault({ method, headers }: IncomingMessage): [number, string] | null {
  if (method !== "GET") return [405, "An upgrade to a WebSocket is a GET\n"];
  if (headers.upgrade?.toLowerCase() !== "websocket")
    return [400, "This is no WebSocket upgrade\n"];
  if (!KEY.test(headers["sec-websocket-key"] ?? "")) return [400, "Sec-WebSocket-Key is wrong\n"];
  if (!VERSIONS.split(", ").includes(String(headers["sec-websocket-version"])))
    return [426, `Sec-WebSocket-Version may be ${VERSIONS}\n`];
  return null;
}

/** Answers an upgrade. Of the protocols that the client names the first is taken; extensions are not. */
export function acceptUpgrade(
  socket: Socket,
  { headers }: IncomingMessage,
  own: Record<string, string>,
): void {
  const key = `${headers["sec-websocket-key"]}${GUID}`;
  const protocol = (headers["sec-websocket-protocol"] ?? "").split(",")[0]?.trim() ?? "";
  const lines = [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${createHash("sha1").update(key).digest("base64")}`,
    ...(PROTOCOL.test(protocol) ? [`Sec-WebSocket-Protocol: ${protocol}`] : []),
    ...Object.entries(own).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
}
