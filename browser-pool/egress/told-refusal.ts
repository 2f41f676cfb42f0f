import type { Socket } from "node:net";
import { accept, take } from "./socks.ts";

const TLS_HANDSHAKE = 22;
/** A fatal alert, `unrecognized_name`: the browser's error for it is told apart from that of a broken connection. */
const TLS_ALERT = Buffer.from([21, 3, 1, 0, 2, 2, 112]);

/** Says why a target is refused in the language that the client speaks: plain http gets a page, TLS an alert. */
export async function tellRefusal(
  client: Socket,
  reason: string,
  signal: AbortSignal,
): Promise<void> {
  accept(client);
  const [first] = await take(client, 1, signal);
  client.resume();
  client.end(first === TLS_HANDSHAKE ? TLS_ALERT : pageOf(reason));
}

function pageOf(reason: string): string {
  const head = [
    "HTTP/1.1 403 Forbidden",
    "Content-Type: text/plain; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(reason)}`,
    "Cache-Control: no-store",
    "Connection: close",
  ];
  return `${head.join("\r\n")}\r\n\r\n${reason}`;
}
