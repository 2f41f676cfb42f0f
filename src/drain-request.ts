import { eachChunk, isLengthTold, stopSending } from "./pass-on.ts";

/** A body of no more than this is read by the runtime itself when nobody wants it. */
const SMALL_BYTES = 64 * 1024;
/** How much of a body that nobody wants is still read, and how long without a byte of it. */
const MOST_BYTES = 64 * 1024 * 1024;
const SILENCE_MS = 5_000;

/**
 * Answers a client that may still be sending, and reads the rest of its body. Were that left unread, the connection would
 * break before the client has read the answer: so the end of the answer waits until the client has sent the rest.
 */
export async function drainAfterAnswer(request: Request, response: Response): Promise<Response> {
  if (!response.body || response.status === 101) return response;
  if (!request.body || isSmall(request)) return response;
  const answer = await withLength(response);
  const { readable, writable } = streamLike(answer);
  void conclude(request, answer, writable);
  return new Response(readable, answer);
}

function isSmall(request: Request): boolean {
  return isLengthTold(request) && Number(request.headers.get("content-length")) <= SMALL_BYTES;
}

/** Answers of our own are short: by its length a client sees the end of one, and need not wait for it. */
async function withLength(response: Response): Promise<Response> {
  const { headers } = response;
  const isOurs = headers.get("content-type")?.startsWith("application/json");
  if (!isOurs || headers.has("content-length") || headers.has("content-encoding")) return response;
  const bytes = await response.arrayBuffer();
  const answer = new Response(bytes, response);
  answer.headers.set("content-length", String(bytes.byteLength));
  return answer;
}

function streamLike({ headers }: Response): TransformStream<Uint8Array, Uint8Array> {
  const length = headers.has("content-encoding") ? null : headers.get("content-length");
  return length === null ? new IdentityTransformStream() : new FixedLengthStream(Number(length));
}

async function conclude(
  request: Request,
  { body }: Response,
  writable: WritableStream<Uint8Array>,
): Promise<void> {
  try {
    await body?.pipeTo(writable, { preventClose: true });
    await drain(request);
    await writable.close();
  } catch {
    // The client has gone, or the answer broke off: then the copy of the answer breaks off too.
  }
}

/** Reads a body to its end, or to a limit, and drops it. */
async function drain(request: Request): Promise<void> {
  let left = MOST_BYTES;
  const reading = async (): Promise<void> => {
    await stopSending(request);
    if (!request.body || request.body.locked) return;
    await eachChunk(request.body, async ({ byteLength }) => (left -= byteLength) > 0);
  };
  let watch: ReturnType<typeof setInterval> | undefined;
  const silence = new Promise<void>((resolve) => {
    let before = left;
    watch = setInterval(() => (before === left ? resolve() : (before = left)), SILENCE_MS);
  });
  // What breaks off needs no more reading.
  await Promise.race([silence, reading().catch(() => undefined)]);
  clearInterval(watch);
}
