import * as z from "zod";

const STATE_BYTES = 2 * 1024 * 1024;

const Cookie = z.looseObject({
  name: z.string(),
  value: z.string(),
  domain: z.string(),
  path: z.string().default("/"),
  /** Seconds since the epoch; -1 = until the browser ends. */
  expires: z.number().default(-1),
  httpOnly: z.boolean().default(false),
  secure: z.boolean().default(false),
  sameSite: z.enum(["Strict", "Lax", "None"]).default("Lax"),
});
const Origin = z.looseObject({
  // Loading an origin visits it, with an answer made here: nothing but a site may be visited.
  origin: z.url({ protocol: /^https?$/ }),
  localStorage: z.array(z.looseObject({ name: z.string(), value: z.string() })).default([]),
});

/** A stored state as Playwright writes it. Playwright checks further parts, such as IndexedDB, when it loads the state. */
export const StoredState = z.looseObject({
  cookies: z.array(Cookie).default([]),
  origins: z.array(Origin).default([]),
});
export type StoredState = z.infer<typeof StoredState>;

/** Whether a state is plain cookies: the browser takes them in one call, where a visited origin costs a page. */
export function isCookiesOnly({ cookies, origins, ...rest }: StoredState): boolean {
  const isPlain = cookies.every(({ partitionKey }) => partitionKey === undefined);
  return isPlain && origins.length === 0 && Object.keys(rest).length === 0;
}

/** Fetches a stored state from the gateway. The path is signed: no other credential goes with it. */
export async function fetchState(
  gatewayUrl: string,
  statePath: string,
  caller: AbortSignal,
  limitMs: number,
): Promise<StoredState> {
  const signal = AbortSignal.any([caller, AbortSignal.timeout(limitMs)]);
  const init: RequestInit = { signal, redirect: "error" };
  const response = await fetch(new URL(statePath, gatewayUrl), init);
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`the gateway answered ${response.status}`);
  }
  return StoredState.parse(JSON.parse(await textOf(response)));
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    // Leaving the loop ends the connection.
    if (size > STATE_BYTES) throw new Error("the state is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
