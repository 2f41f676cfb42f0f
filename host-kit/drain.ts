import type { Writable } from "node:stream";

/** Resolves when a full stream takes more, or has closed: a closed stream never drains. */
export function whenDrained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off("drain", done);
      stream.off("close", done);
      resolve();
    };
    stream.on("drain", done);
    stream.on("close", done);
    if (stream.closed) done();
  });
}
