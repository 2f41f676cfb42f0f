import type { Writable } from "node:stream";
import type { Transport } from "@svc/contract/control-channel/wire.ts";
import { whenDrained } from "@svc/host-kit/drain.ts";

/** A machine's port as what a link writes to. `onFull` is called when more than `heldBytes` wait for the machine. */
export function transportOf(socket: Writable, heldBytes: number, onFull: () => void): Transport {
  let drained: Promise<void> | null = null;
  return {
    write: (bytes) => {
      if (!socket.writable) return;
      socket.write(bytes);
      if (socket.writableLength > heldBytes) onFull();
    },
    whenWritable: () => {
      if (!socket.writable || !socket.writableNeedDrain) return null;
      drained ??= whenDrained(socket).finally(() => (drained = null));
      return drained;
    },
  };
}
