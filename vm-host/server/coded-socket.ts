import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { WebSocket } from "ws";

/** The code by which the library closes a socket after a message that is too long. */
const TOO_LONG = 1009;

/** The reasons of the codes by which the library closes a socket by itself, which it leaves without one. */
const REASONS = new Map<number, string>([
  [CLOSE_CODES.messageTooLarge, "a message has more than 1 MiB"],
  [CLOSE_CODES.protocolBroken, "a frame breaks the WebSocket protocol"],
  [CLOSE_CODES.notUtf8, "a text message is not UTF-8"],
]);

/** A WebSocket that is closed by the codes of the service, with a reason, also where the library closes it. */
export class CodedSocket extends WebSocket {
  override close(code?: number, reason?: string | Buffer): void {
    const own = code === TOO_LONG ? CLOSE_CODES.messageTooLarge : code;
    super.close(own, reason ?? REASONS.get(own ?? CLOSE_CODES.normal));
  }
}
