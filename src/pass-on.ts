/** How much of a body is read at once. */
const CHUNK_BYTES = 64 * 1024;

/** The body of a request that is being sent on. */
export interface PassedOn {
  body: ReadableStream<Uint8Array> | null;
  /** Aborts the call that carries it: set off when the client breaks off, or passes `atMost`. */
  signal: AbortSignal;
  /** Whether the body was above `atMost`. */
  isOver: () => boolean;
}

/** For each request whose body is being sent on: stops that, and leaves the rest of the body to be read. */
const SENDING = new WeakMap<Request, () => Promise<void>>();

/**
 * Sends the body of a request on as it comes. A body that is cut, or turns out to be above `atMost` bytes, aborts the
 * call: a stream that errors would end what was sent as if it were whole. Not `pipeTo`: a pipe that is stopped leaves
 * nothing to read, whatever its options.
 */
export function passOn(request: Request, atMost = Number.POSITIVE_INFINITY): PassedOn {
  const call = new AbortController();
  const { signal } = call;
  const { body } = request;
  if (!body) return { body, signal, isOver: () => false };
  const { readable, writable } = isLengthTold(request)
    ? new FixedLengthStream(Number(request.headers.get("content-length")))
    : new IdentityTransformStream();
  let left = atMost;
  const stop = new AbortController();
  const stopped = new Promise<"stopped">((resolve) =>
    stop.signal.addEventListener("abort", () => resolve("stopped")),
  );
  const writer = writable.getWriter();
  const write = async (bytes: Uint8Array): Promise<boolean> => {
    left -= bytes.byteLength;
    if (left < 0) call.abort();
    if (left < 0) return false;
    // A host that has answered reads no more: a write then fails, or never ends.
    const writing = writer.write(bytes).catch(() => "stopped");
    return (await Promise.race([writing, stopped])) !== "stopped";
  };
  const ended = eachChunk(body, write).then(
    (isWhole) => (isWhole ? writer.close().catch(() => undefined) : undefined),
    () => call.abort(),
  );
  SENDING.set(request, () => {
    stop.abort();
    return ended;
  });
  return { body: readable, signal, isOver: () => left < 0 };
}

/** Stops the sending of a body, if it is being sent: from now on the rest of it is there to be read. */
export async function stopSending(request: Request): Promise<void> {
  await SENDING.get(request)?.();
}

/**
 * Reads a body until `take` wants no more of it; true at its end. A chunk is only good until `take` is done with it.
 * Rejects when the client breaks off.
 */
export async function eachChunk(
  body: ReadableStream<Uint8Array>,
  take: (bytes: Uint8Array) => Promise<boolean>,
): Promise<boolean> {
  const reader = body.getReader({ mode: "byob" });
  try {
    for (let buffer = new ArrayBuffer(CHUNK_BYTES); ;) {
      const { done, value } = await reader.read(new Uint8Array(buffer));
      if (done) return true;
      if (!(await take(value))) return false;
      ({ buffer } = value);
    }
  } finally {
    reader.releaseLock();
  }
}

/** Whether the length of a body is known before it is read. */
export function isLengthTold({ headers }: Request): boolean {
  return headers.has("content-length") && !headers.has("transfer-encoding");
}
