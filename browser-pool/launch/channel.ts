import type { ChildProcess } from "node:child_process";

const ANSWERS = ['{"cmd":"NODE_HANDLE_ACK"}', '{"cmd":"NODE_HANDLE_NACK"}'];

/** The parts of Node's own end of a process channel that a guard needs. */
interface Handle {
  onread: (bytes?: ArrayBuffer) => void;
}

/**
 * Reads what a program writes into its process channel before Node does. Node takes any message there for its own child's: bytes
 * that are no JSON, or an answer to nothing, would end this process. Only answers to sockets that were given pass;
 * `onNonsense` is called for all else, once, and nothing is read from then on.
 */
export class ChannelGuard {
  readonly #onNonsense: () => void;
  #unanswered = 0;
  #rest = "";
  #isBroken = false;

  constructor(child: ChildProcess, onNonsense: () => void) {
    this.#onNonsense = onNonsense;
    const handle = handleOf(child);
    const read = handle.onread;
    handle.onread = (bytes?: ArrayBuffer): void => {
      if (this.#isSound(handle, bytes)) read.call(handle, bytes);
    };
  }

  /** A socket is being given to the program: one answer may come. */
  gave(): void {
    this.#unanswered += 1;
  }

  #isSound(handle: Handle, bytes?: ArrayBuffer): boolean {
    if (this.#isBroken) return bytes === undefined;
    const hasSocket = Boolean(Reflect.get(handle, "pendingHandle"));
    if (!hasSocket && this.#takes(bytes ? Buffer.from(bytes).toString("latin1") : "")) return true;
    this.#isBroken = true;
    this.#onNonsense();
    return false;
  }

  #takes(text: string): boolean {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    this.#unanswered -= lines.length;
    const isWhole = lines.every((line) => ANSWERS.includes(line)) && this.#unanswered >= 0;
    return isWhole && ANSWERS.some((answer) => answer.startsWith(this.#rest));
  }
}

function handleOf(child: ChildProcess): Handle {
  const symbol = Object.getOwnPropertySymbols(child).find(
    ({ description }) => description === "kChannelHandle",
  );
  const handle: unknown = symbol && Reflect.get(child, symbol);
  if (!isHandle(handle)) throw new TypeError("a program without a process channel");
  return handle;
}

function isHandle(handle: unknown): handle is Handle {
  return (
    typeof handle === "object" &&
    handle !== null &&
    typeof Reflect.get(handle, "onread") === "function"
  );
}
