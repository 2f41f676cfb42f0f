import { ConnectionError } from "./errors.ts";

/** Bytes as they may be given to the sdk. Text is UTF-8. */
export type Data = string | Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array>;

const encoder = new TextEncoder();

/** The parts of a stream. Ending early cancels it. */
export async function* bytesOf(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  // Not every runtime iterates streams by itself.
  const reader = stream.getReader();
  let isDone = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      isDone = done;
      if (done) return;
      yield value;
    }
  } finally {
    if (!isDone) void reader.cancel().catch(() => {});
  }
}

/** The parts of data, whatever it is. */
export async function* partsOf(data: Data): AsyncGenerator<Uint8Array, void> {
  if (typeof data === "string") yield encoder.encode(data);
  else if (data instanceof Uint8Array) yield data;
  else if (data instanceof ArrayBuffer) yield new Uint8Array(data);
  else yield* bytesOf(data instanceof Blob ? (data.stream() as ReadableStream<Uint8Array>) : data);
}

/** The lines of a stream of UTF-8, without their ends. */
export async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const part of bytesOf(stream)) {
    const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  yield rest + decoder.decode();
}

/** Parts as one. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * A body as its reader gets it: an abort ends it with the signal's reason, also long after the call has answered, and a cut
 * connection is a `ConnectionError`, never a short end.
 */
export function guarded(
  body: ReadableStream<Uint8Array> | null,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  const reader = body?.getReader();
  let stop = (): void => {};
  const over = (): void => signal?.removeEventListener("abort", stop);
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        stop = () => {
          controller.error(signal?.reason);
          reader?.cancel(signal?.reason).catch(() => {});
        };
        if (signal?.aborted) stop();
        else signal?.addEventListener("abort", stop, { once: true });
      },
      async pull(controller) {
        try {
          const { done, value } = (await reader?.read()) ?? { done: true };
          if (!done && value) return controller.enqueue(value);
          over();
          if (!signal?.aborted) controller.close();
        } catch (error) {
          over();
          if (signal?.aborted) return;
          controller.error(new ConnectionError("The connection was cut.", { cause: error }));
        }
      },
      async cancel(reason) {
        over();
        await reader?.cancel(reason);
      },
    },
    // Nothing is read ahead: a stream that nobody reads holds nothing.
    { highWaterMark: 0 },
  );
}
