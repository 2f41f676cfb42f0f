import { once } from "node:events";
import type { Socket } from "node:net";
import type { Transport } from "@svc/contract/control-channel/link.ts";

/** A machine's port as what a link writes to. */
export function transportOf(socket: Socket): Transport {
  let drained: Promise<void> | null = null;
  const wait = async (): Promise<void> => {
    // A socket that closes never drains.
    await Promise.race([once(socket, "drain"), once(socket, "close")]).catch(() => null);
    drained = null;
  };
  return {
    write: (bytes) => void (socket.writable && socket.write(bytes)),
    whenWritable: () => {
      if (!socket.writable || !socket.writableNeedDrain) return null;
      drained ??= wait();
      return drained;
    },
  };
}
