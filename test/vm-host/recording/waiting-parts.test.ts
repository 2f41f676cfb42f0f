import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { WaitingParts } from "../../../vm-host/recording/waiting-parts.ts";
import { Gateway } from "../rig/gateway.ts";
import { ObjectStore, ObjectStoreError } from "@svc/host-kit/object-store.ts";
import { HOST_TOKEN } from "../../support/secrets.ts";

const QUIET = { info() {}, warn() {}, error() {} } as never;
const of = (file: string) => ({ org: "org_1", sandbox: "box", file });

let folder: string;
let gateway: Gateway;
let waiting: WaitingParts;

/** Parts of this folder, brought to a store behind a gateway. */
async function open(more: { mostBytes?: number; upload?: ObjectStore["upload"] } = {}) {
  const { upload, mostBytes } = more;
  const objects = new ObjectStore({ gatewayUrl: await url, hostToken: HOST_TOKEN });
  return WaitingParts.open({
    folder,
    objects: upload ? { upload } : objects,
    log: QUIET,
    ...(mostBytes !== undefined && { mostBytes }),
  });
}

let url: Promise<string>;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "parts-"));
  gateway = new Gateway();
  url = gateway.start();
  waiting = await open();
});
afterEach(async () => {
  await waiting.close();
  await gateway.stop();
  await rm(folder, { recursive: true, force: true });
});

const stored = (count: number): Promise<void> =>
  gateway.objects.until(() => gateway.objects.keys("recording/").length >= count);
const filesOf = async (): Promise<string[]> => (await readdir(folder)).toSorted();

test("a part is stored under its own name, and is not on the disk any more", async () => {
  await waiting.add(of("1.webm"), Buffer.from("one"));
  await stored(1);
  expect(gateway.objects.stored.get("recording/org_1/box/1.webm")?.toString()).toBe("one");
  await expect.poll(filesOf).toEqual([]);
});

test("parts wait for a store that is away, and come in their order", async () => {
  gateway.objects.isAway = true;
  await waiting.add(of("1.webm"), Buffer.from("one"));
  await waiting.add(of("2.webm"), Buffer.from("two"));
  await expect.poll(() => gateway.objects.refused).toBeGreaterThan(0);
  expect(waiting.size).toBe(2);
  gateway.objects.isAway = false;
  await stored(2);
  expect([...gateway.objects.stored.keys()].map((key) => key.at(-6))).toEqual(["1", "2"]);
});

test("what waits when the host ends is stored by the next one, but for what was not written whole", async () => {
  gateway.objects.isAway = true;
  await waiting.add(of("1.webm"), Buffer.from("one"));
  await waiting.close();
  await writeFile(join(folder, "org_1,box,2.webm.tmp"), "tw");
  gateway.objects.isAway = false;
  waiting = await open();
  await stored(1);
  await expect.poll(filesOf).toEqual([]);
  expect(gateway.objects.keys("recording/")).toEqual(["recording/org_1/box/1.webm"]);
});

test("no more waits than the disk may be taken", async () => {
  gateway.objects.isAway = true;
  await waiting.close();
  waiting = await open({ mostBytes: 5 });
  await waiting.add(of("1.webm"), Buffer.from("one"));
  await expect(waiting.add(of("2.webm"), Buffer.from("two"))).rejects.toThrow(/too much waits/);
  expect(await filesOf()).toEqual(["org_1,box,1.webm"]);
});

test("a part that is refused for good holds up no other", async () => {
  const brought: string[] = [];
  await waiting.close();
  waiting = await open({
    upload: async (object) => {
      if (object.purpose !== "recording") return;
      if (object.file === "1.webm") throw new ObjectStoreError("ask", 404);
      brought.push(object.file);
    },
  });
  await waiting.add(of("1.webm"), Buffer.from("one"));
  await waiting.add(of("2.webm"), Buffer.from("two"));
  await expect.poll(() => brought).toEqual(["2.webm"]);
  await expect.poll(filesOf).toEqual([]);
});
