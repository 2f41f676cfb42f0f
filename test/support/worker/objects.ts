import { type AskObject, ObjectUrls } from "@svc/contract/host-protocol/objects.ts";
import { call, json } from "./gateway.ts";
import { HOST_TOKEN } from "../secrets.ts";

export const volume = `vol_${"0123456789abcdef".repeat(2)}`;
/** An object that a VM host may store: a chunk of a volume. */
export const object = { purpose: "volume", volume, file: "chunk-1" } as const;

/** Asks as a host for URLs of an object, or to remove it. */
export const ask = (body: unknown, bearer = HOST_TOKEN): Promise<Response> =>
  call("/internal/objects", { ...json(body), bearer });

/** The URLs of an object. */
export async function urls(body: AskObject): Promise<ObjectUrls> {
  const response = await ask(body);
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return ObjectUrls.parse(await response.json());
}

export const pathOf = (url = ""): string => new URL(url).pathname;

export const put = (url: string | undefined, body: BodyInit): Promise<Response> =>
  call(pathOf(url), { method: "PUT", body });

export const get = (url: string | undefined, range?: string): Promise<Response> =>
  call(pathOf(url), { headers: range ? { range } : {} });

/** A body as text, whatever its Content-Type. */
export const textOf = async (response: Response): Promise<string> =>
  new TextDecoder().decode(await response.arrayBuffer());

/** Stores a text as the object, and answers the URL to read it. */
export async function stored(text: string): Promise<string | undefined> {
  const stored = await put((await urls({ object, sizeBytes: text.length })).put, text);
  if (stored.status !== 200) throw new Error(`${stored.status} ${await stored.text()}`);
  return (await urls({ object })).get;
}
