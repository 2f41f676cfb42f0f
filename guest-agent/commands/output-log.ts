import { RING_BYTES } from "@svc/contract/control-channel/protocol.ts";

/** stdout is 1, stderr 2. */
export type OutputChannel = 1 | 2;

export interface Block {
  channel: OutputChannel;
  offset: number;
  bytes: Buffer;
}

const SMALL_BYTES = 4 * 1024;
const BLOCKS_MAX = 4 * 1024;

/** Where a follower is. */
export interface Follower {
  offset: number;
}

/**
 * The output of one process, both channels in the order they came, counted in bytes from its start. The last MiB is kept
 * for who comes back; while somebody follows, nothing is dropped that he has not had: the process waits instead.
 */
export class OutputLog {
  #blocks: Block[] = [];
  #end = 0;
  #isClosed = false;
  readonly #followers = new Set<Follower>();
  #waiters: (() => void)[] = [];

  get end(): number {
    return this.#end;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether a follower is so far behind that the process has to wait. */
  get isFull(): boolean {
    return this.#followers.size > 0 && this.#end - this.#slowest() >= RING_BYTES;
  }

  append(channel: OutputChannel, bytes: Buffer): void {
    const last = this.#blocks.at(-1);
    // Many tiny writes must not become as many objects.
    if (last?.channel === channel && last.bytes.length + bytes.length <= SMALL_BYTES)
      last.bytes = Buffer.concat([last.bytes, bytes]);
    else this.#blocks.push({ channel, offset: this.#end, bytes });
    this.#end += bytes.length;
    this.#trim();
    this.#wake();
  }

  /** The process has ended: nothing more comes. */
  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  follow(from: number): Follower {
    const follower = { offset: Math.min(from, this.#end) };
    this.#followers.add(follower);
    return follower;
  }

  leave(follower: Follower): void {
    this.#followers.delete(follower);
    this.#trim();
    this.#wake();
  }

  /** The next output of a follower, cut at what he has had; null when there is none yet. */
  next(follower: Follower): Block | null {
    const block = this.#blocks.find(({ offset, bytes }) => offset + bytes.length > follower.offset);
    if (!block) return null;
    const skip = Math.max(0, follower.offset - block.offset);
    return {
      channel: block.channel,
      offset: block.offset + skip,
      bytes: block.bytes.subarray(skip),
    };
  }

  /** A follower has had everything up to here. */
  advance(follower: Follower, offset: number): void {
    const wasFull = this.isFull;
    follower.offset = offset;
    this.#trim();
    if (wasFull && !this.isFull) this.#wake();
  }

  /** Resolves at the next change: output, the end, or room. */
  changed(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  #slowest(): number {
    let offset = this.#end;
    for (const follower of this.#followers) offset = Math.min(offset, follower.offset);
    return offset;
  }

  #trim(): void {
    const keepFrom = Math.min(this.#slowest(), this.#end - RING_BYTES);
    let gone = 0;
    for (const { offset, bytes } of this.#blocks) {
      const isOld = offset + bytes.length <= keepFrom;
      const isOneTooMany = this.#blocks.length - gone > BLOCKS_MAX && this.#followers.size === 0;
      if (!isOld && !isOneTooMany) break;
      gone += 1;
    }
    if (gone > 0) this.#blocks.splice(0, gone);
  }

  /** Lets who waits for a change look again. */
  wake(): void {
    this.#wake();
  }

  #wake(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }
}
