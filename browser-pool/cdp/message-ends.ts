import { LIMITS } from "@svc/contract/limits.ts";
import type { Pieces } from "./pieces.ts";
import { HEAD_BYTES, type Route, SESSION_BYTES, routeBy } from "./route.ts";

/** The first and the last bytes of a message that is too long to be passed: they name the client it is for. */
export class MessageEnds {
  readonly #head: Buffer;
  #tail: Buffer;

  /** `pieces`: what of the message has come. */
  constructor(pieces: Pieces) {
    const { size } = pieces;
    this.#head = Buffer.from(pieces.bytes(0, HEAD_BYTES));
    this.#tail = Buffer.from(pieces.bytes(size - SESSION_BYTES, size));
  }

  push(piece: Buffer): void {
    this.#tail = Buffer.concat([this.#tail, piece.subarray(-SESSION_BYTES)]).subarray(
      -SESSION_BYTES,
    );
  }

  get route(): Route {
    return routeBy(this.#head, this.#tail);
  }
}

/** Says of a message that it is longer than allowed. */
export function tooLongText(message: string): string {
  return `${message} is longer than ${LIMITS.wireMessageBytes / 1024 / 1024} MiB.`;
}
