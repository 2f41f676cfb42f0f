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
  let taken: Promise<void> = Promise.resolve();
  const onData = (chunk: Buffer): void => {
    body.pause();
    taken = take(chunk).then((wantsMore) => (wantsMore ? void body.resume() : resolve()));
    taken.catch(reject);
  };
  // A body tells its end right after its last chunk, paused or not.
  const onEnd = (): void => void taken.then(resolve, reject);
  // This listener stays: a body may break off when nobody reads it any more.
  body.on("error", reject);
  body.once("end", onEnd);
  body.on("data", onData);
  // It was cut before anybody listened.
  if (body.destroyed && !body.readableEnded) reject(body.errored ?? new Error("cut off"));
  try {
    await Promise.race([ended, over]);
  } finally {
    body.off("data", onData);
    body.off("end", onEnd);
  }
}
