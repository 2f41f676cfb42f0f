import type { Readable } from "node:stream";

/**
 * Hands a body on piece by piece, until it ends, `take` wants no more of it, or `over` resolves: then the rest is left to
 * be read, or to be let go. Rejects when the body breaks off.
 */
export async function eachChunk(
  body: Readable,
  take: (chunk: Buffer) => Promise<boolean>,
  over: Promise<void>,
): Promise<void> {
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  const onData = (chunk: Buffer): void => {
    body.pause();
    take(chunk).then((wantsMore) => (wantsMore ? body.resume() : resolve()), reject);
  };
  // It stays: a body may break off when nobody reads it any more.
  body.on("error", reject);
  body.once("end", resolve);
  body.on("data", onData);
  try {
    await Promise.race([ended, over]);
  } finally {
    body.off("data", onData);
    body.off("end", resolve);
  }
}
