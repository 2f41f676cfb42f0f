import { createHash } from "node:crypto";
import { createReadStream, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { once } from "node:events";
import { LIMITS } from "@svc/contract/limits.ts";
import { ObjectStore, ObjectStoreError } from "@svc/host-kit/object-store.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestGateway, testGateway } from "../support/process/gateway.ts";
import { HOST_TOKEN } from "../support/secrets.ts";

const PART = LIMITS.objectPartBytes;
const folder = mkdtempSync(join(tmpdir(), "svc-objects-"));
let gateway: TestGateway;
let store: ObjectStore;

beforeAll(async () => {
  gateway = await testGateway();
  store = storeAt(gateway.url.href);
});

afterAll(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true });
});

const storeAt = (gatewayUrl: string, hostToken = HOST_TOKEN, signal?: AbortSignal) =>
  new ObjectStore({ gatewayUrl, hostToken, ...(signal && { signal }) });

const named = (file: string) =>
  ({ purpose: "snapshot", org: "org_1", snapshot: "snap_1", file }) as const;

/** A file whose bytes are different everywhere, so that a swapped part is seen. */
function fileOf(name: string, size: number): string {
  const path = join(folder, name);
  const block = Buffer.alloc(size);
  for (let at = 0; at + 4 <= size; at += 4) block.writeUInt32LE((at * 2_654_435_761) >>> 0, at);
  writeFileSync(path, block);
  return path;
}

async function digest(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

test.each([
  ["no bytes", 0],
  ["one byte", 1],
  ["exactly one part", PART],
  ["three parts, the last one small", 2 * PART + 12_345],
])("a file of %s comes back as it was", async (name, size) => {
  const path = fileOf(name.replaceAll(/\W/g, "-"), size);
  const back = `${path}.back`;
  const object = named(name.replaceAll(/\W/g, "-"));
  await store.upload(object, path);
  expect(await store.download(object, back)).toBe(true);
  expect(await digest(back)).toBe(await digest(path));
});

test("an object that is stored again is replaced", async () => {
  await store.upload(named("twice"), fileOf("first", 100));
  const second = fileOf("second", 200);
  await store.upload(named("twice"), second);
  await store.download(named("twice"), join(folder, "twice"));
  expect(await digest(join(folder, "twice"))).toBe(await digest(second));
});

test("of two that replace one object at once the second is refused, and knows why", async () => {
  const object = named("race");
  await store.upload(object, fileOf("race-0", 10), null);
  const etag = (await store.fetch(object, join(folder, "race")))?.etag;
  await store.upload(object, fileOf("race-1", 20), etag);
  const late = store.upload(object, fileOf("race-2", 30), etag);
  await expect(late).rejects.toMatchObject({ status: 412, isChanged: true, isPassing: false });
  await store.download(object, join(folder, "race"));
  expect(await digest(join(folder, "race"))).toBe(await digest(join(folder, "race-1")));
});

test("what is not there is said, and no file is made of it", async () => {
  expect(await store.download(named("never"), join(folder, "never"))).toBe(false);
  expect(readdirSync(folder)).not.toContain("never");
});

test("a store that refuses is no passing fault, one that is away or failing is", async () => {
  const refused = storeAt(gateway.url.href, "wrong").upload(named("a"), fileOf("a", 1));
  await expect(refused).rejects.toMatchObject({ status: 401, isPassing: false });
  const away = storeAt("http://127.0.0.1:1").download(named("a"), join(folder, "a"));
  await expect(away).rejects.toMatchObject({ status: null, isPassing: true });
  expect(new ObjectStoreError("x", 502).isPassing).toBe(true);
});

test("a download that breaks off half way leaves the file as it was, and no draft", async () => {
  // Answers as the gateway does, but never sends the last byte.
  const cut = createServer((request, response) => {
    const get = `http://127.0.0.1:${(cut.address() as AddressInfo).port}/bytes`;
    if (request.url !== "/bytes")
      return void response.end(
        JSON.stringify({ expiresInSeconds: 1, get, sizeBytes: 10, etag: "e" }),
      );
    response.writeHead(206, { "content-length": "10" });
    response.write("123456789", () => response.destroy());
  });
  cut.listen(0, "127.0.0.1");
  await once(cut, "listening");
  const path = fileOf("kept", 8);
  const before = await digest(path);
  const url = `http://127.0.0.1:${(cut.address() as AddressInfo).port}`;
  await expect(storeAt(url).download(named("kept"), path)).rejects.toThrow(/terminated|aborted/);
  expect(await digest(path)).toBe(before);
  expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  cut.close();
});

test("an upload that is aborted leaves nothing to be read", async () => {
  const stop = new AbortController();
  const path = fileOf("large", 3 * PART);
  const uploading = storeAt(gateway.url.href, HOST_TOKEN, stop.signal).upload(named("large"), path);
  stop.abort();
  await expect(uploading).rejects.toThrow(ObjectStoreError);
  expect(await store.download(named("large"), join(folder, "large.back"))).toBe(false);
});
