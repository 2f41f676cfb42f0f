import type { RequestContext } from "@svc/contract/control-channel/rpc-server.ts";
import type { OutputChannel, OutputLog } from "./output-log.ts";

export interface FollowOptions {
  from: number;
  signal: AbortSignal;
  /** Takes output in order. False: it is over for the taker. */
  take: (channel: OutputChannel, bytes: Buffer) => boolean | Promise<boolean>;
  /** Output between two offsets is no longer there. */
  onGap?: (from: number, to: number) => void;
}

/** Hands the output of a process on, from an offset to its end. The process waits for a slow taker. */
export async function follow(log: OutputLog, options: FollowOptions): Promise<void> {
  const { from, signal, take, onGap } = options;
  const follower = log.follow(from);
  const aborted = new Promise<void>((resolve) =>
    signal.addEventListener("abort", () => resolve(), { once: true }),
  );
  try {
    while (!signal.aborted) {
      const block = log.next(follower);
      if (block) {
        if (block.offset > follower.offset) onGap?.(follower.offset, block.offset);
        const taken = take(block.channel, block.bytes);
        if (!(taken === true || (await taken))) return;
        log.advance(follower, block.offset + block.bytes.length);
      } else if (log.isClosed) return;
      else await Promise.race([log.changed(), aborted]);
    }
  } finally {
    log.leave(follower);
  }
}

/** Output to the stream of a request. */
export function toStream({
  id,
  stream,
  signal,
  notify,
}: RequestContext): Omit<FollowOptions, "from"> {
  return {
    signal,
    take: (channel, bytes) => stream.write(channel, bytes),
    onGap: (from, to) => notify("rpc.gap", { stream: id, from, to }),
  };
}
