import { once } from "node:events";
import { writeSync } from "node:fs";
import { EXIT } from "../exit-codes.ts";

const gone = new AbortController();
let isWatched = false;

/** Aborted when the reader of the output has left. Its caller ends the program by itself. */
export function readerGone(): AbortSignal {
  isWatched = true;
  return gone.signal;
}

/** A reader that leaves ends the program quietly, as SIGPIPE ends others. Called first. */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE" && error.code !== "EIO") fail(error);
      gone.abort();
      if (!isWatched) process.exit(EXIT.brokenPipe);
    });
}

/** Ends the program when output is lost, mostly to a full disk: that is no success. */
function fail({ message }: Error): never {
  writeSync(2, `svc: The output cannot be written: ${message}\n`);
  process.exit(EXIT.refused);
}

/** Writes, and waits while the reader is slow. */
export async function write(stream: NodeJS.WriteStream, data: string | Uint8Array): Promise<void> {
  if (gone.signal.aborted || stream.write(data)) return;
  await once(stream, "drain", { signal: gone.signal }).catch(() => {});
}

/** Waits until all that was written has left this program. True: the reader has left before. */
export async function flushed(): Promise<boolean> {
  for (const stream of [process.stdout, process.stderr]) {
    if (gone.signal.aborted) return true;
    const isLost = await new Promise<boolean>((resolve) => {
      gone.signal.addEventListener("abort", () => resolve(true));
      stream.write("", (error) => resolve(Boolean(error)));
    });
    if (isLost) return true;
  }
  return false;
}
