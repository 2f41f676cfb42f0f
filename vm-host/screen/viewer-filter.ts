import { SCREEN_MOST } from "@svc/contract/vm/machine.ts";
import { FROM_CLIENT, SECURITY_NONE, VERSION } from "./messages.ts";

/** What a viewer has sent is no RFB that a screen of ours is asked for. */
export class ViewerFault extends Error {
  override readonly name = "ViewerFault";
}

/** What a viewer's next bytes are. */
type Stage = "version" | "security" | "init" | "messages";

/** A viewer that only watches may ask for pictures in its way: nothing of this moves or types anything. */
const WATCHING: ReadonlySet<number> = new Set([
  FROM_CLIENT.setPixelFormat,
  FROM_CLIENT.setEncodings,
  FROM_CLIENT.updateRequest,
  FROM_CLIENT.continuousUpdates,
  FROM_CLIENT.fence,
]);
/** The first version that lets a viewer choose how it proves itself. */
const CHOOSES_SECURITY = "RFB 003.007\n";
const SHARED = 1;
const QEMU_KEY = 0;
/** The longest head of a message, by which its length is known. */
const HEAD_BYTES = 12;

/**
 * Follows what a viewer says to a screen, message by message, however it is cut, and passes on what it may say: of a viewer
 * that only watches no key, no pointer, no text and no size. Holds the head of one message at most.
 */
export class ViewerFilter {
  readonly #isViewOnly: boolean;
  #stage: Stage = "version";
  readonly #head = Buffer.alloc(HEAD_BYTES);
  #headBytes = 0;
  /** Of the message that is on its way. */
  #restBytes = 0;
  #isDropped = false;

  constructor(isViewOnly: boolean) {
    this.#isViewOnly = isViewOnly;
  }

  /** The part of a viewer's bytes that the screen gets. Throws a `ViewerFault`. */
  take(chunk: Uint8Array): Buffer {
    const passed: Uint8Array[] = [];
    let at = 0;
    while (at < chunk.length) {
      if (this.#restBytes === 0) {
        const head = this.#add(chunk[at] ?? 0);
        at += 1;
        if (head && !this.#isDropped) passed.push(head);
      } else {
        const rest = chunk.subarray(at, at + this.#restBytes);
        at += rest.length;
        this.#restBytes -= rest.length;
        if (!this.#isDropped) passed.push(rest);
      }
    }
    return Buffer.concat(passed);
  }

  /** Takes a byte of a head; returns the head once it says how long its message is. */
  #add(byte: number): Buffer | null {
    this.#head[this.#headBytes] = byte;
    this.#headBytes += 1;
    const head = this.#head.subarray(0, this.#headBytes);
    const length = this.#stage === "messages" ? lengthOf(head) : this.#greeted(head);
    if (length === null) return null;
    this.#restBytes = length - this.#headBytes;
    this.#headBytes = 0;
    this.#isDropped = this.#stage === "messages" && !this.#isPassed(head);
    if (this.#stage === "init") {
      this.#stage = "messages";
      // Whoever comes must not send the others away.
      return Buffer.from([SHARED]);
    }
    if (this.#stage !== "messages") this.#stage = this.#next(head);
    return Buffer.from(head);
  }

  /** The length of a word of the greeting, once all of it is there. */
  #greeted(head: Buffer): number | null {
    const wanted = this.#stage === "version" ? VERSION.length : 1;
    return head.length < wanted ? null : wanted;
  }

  #next(head: Buffer): Stage {
    if (this.#stage === "version") {
      const version = head.toString("latin1");
      if (!/^RFB 003\.\d{3}\n$/.test(version)) throw new ViewerFault("it does not speak RFB 3");
      return version < CHOOSES_SECURITY ? "init" : "security";
    }
    if (head.readUInt8(0) !== SECURITY_NONE)
      throw new ViewerFault("the screen knows security type 1 alone");
    return "init";
  }

  #isPassed(head: Buffer): boolean {
    const type = head.readUInt8(0);
    if (this.#isViewOnly) return WATCHING.has(type);
    if (type !== FROM_CLIENT.setDesktopSize) return true;
    const [width, height] = [head.readUInt16BE(2), head.readUInt16BE(4)];
    return width <= SCREEN_MOST.width && height <= SCREEN_MOST.height;
  }
}

/** The length of a message, head included; null while too little of it is there to tell. */
function lengthOf(head: Buffer): number | null {
  const after = (bytes: number, length: () => number): number | null =>
    head.length < bytes ? null : length();
  switch (head.readUInt8(0)) {
    case FROM_CLIENT.setPixelFormat:
      return 20;
    case FROM_CLIENT.setEncodings:
      return after(4, () => 4 + 4 * head.readUInt16BE(2));
    case FROM_CLIENT.updateRequest:
    case FROM_CLIENT.continuousUpdates:
      return 10;
    case FROM_CLIENT.key:
      return 8;
    case FROM_CLIENT.pointer:
      return 6;
    // Negative: a text in the way of the extended clipboard.
    case FROM_CLIENT.cutText:
      return after(8, () => 8 + Math.abs(head.readInt32BE(4)));
    case FROM_CLIENT.fence:
      return after(9, () => 9 + head.readUInt8(8));
    case FROM_CLIENT.xvp:
      return 4;
    case FROM_CLIENT.setDesktopSize:
      return after(8, () => 8 + 16 * head.readUInt8(6));
    case FROM_CLIENT.qemu:
      return after(2, () => qemuLength(head.readUInt8(1)));
    default:
      throw new ViewerFault(`message ${head.readUInt8(0)} is none that a screen is asked for`);
  }
}

function qemuLength(type: number): number {
  if (type === QEMU_KEY) return 12;
  throw new ViewerFault(`message 255.${type} is none that a screen is asked for`);
}
