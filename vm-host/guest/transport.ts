import type { Writable } from "node:stream";
import type { Transport } from "@svc/contract/control-channel/wire.ts";
import { whenDrained } from "@svc/host-kit/drain.ts";

/** A machine's port as what a link writes to. */
export function transportOf(socket: Writable): Transport {
  let drained: Promise<void> | null = null;
  return {
    write: (bytes) => void (socket.writable && socket.write(bytes)),
    whenWritable: () => {
      if (!socket.writable || !socket.writableNeedDrain) return null;
      drained ??= whenDrained(socket).finally(() => (drained = null));
      return drained;
    },
  };
}
