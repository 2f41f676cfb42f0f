import { env } from "cloudflare:workers";
import { SandboxList } from "@svc/contract/vm/sandbox.ts";
import { describe, expect, test } from "vitest";
import { UNCAPPED } from "../../../durable-objects/org/messages.ts";
import { call, newOrg } from "../../support/worker/gateway.ts";
import { newSandbox, newVmHost, sandboxView } from "../../support/worker/vm-host.ts";

await newVmHost({ capabilities: ["desktop"] });

async function listing(key: string, query = ""): Promise<SandboxList> {
  const response = await call(`/sandboxes${query}`, { bearer: key });
  expect([query, response.status]).toEqual([query, 200]);
  return SandboxList.parse(await response.json());
}

const idsOf = ({ sandboxes }: SandboxList) => sandboxes.map(({ sandboxId }) => sandboxId);

describe("GET /sandboxes", async () => {
  const { key } = await newOrg("professional");
  const one = await newSandbox(key, { metadata: { job: "a", "odd key=&\"'": "ü" } });
  const two = await newSandbox(key, { metadata: { job: "b" } });
  const desktop = await newSandbox(key, { kind: "desktop", metadata: { job: "a" } });
  const gone = await newSandbox(key, { metadata: { job: "a" } });
  await call(`/sandboxes/${gone.sandboxId}`, { method: "DELETE", bearer: key });
  const live = [desktop.sandboxId, two.sandboxId, one.sandboxId];

  test("is the live ones of both kinds, newest first, as their records are", async () => {
    const list = await listing(key);
    expect(idsOf(list)).toEqual(live);
    expect(list).not.toHaveProperty("nextCursor");
    const record = await call(`/sandboxes/${one.sandboxId}`, { bearer: key });
    const { expiresAt: _late, ...same } = await record.json<{ expiresAt: string }>();
    expect(list.sandboxes[2]).toMatchObject(same);
    for (const item of list.sandboxes) expect(item).not.toHaveProperty("controlUrl");
  });

  test.each([
    ["?kind=sandbox", [two, one]],
    ["?kind=desktop", [desktop]],
    ["?state=running", [desktop, two, one]],
    ["?state=gone", [gone]],
    ["?state=paused", []],
    ["?metadata.job=a", [desktop, one]],
    ["?metadata.job=a&kind=sandbox", [one]],
    ["?metadata.job=a&metadata.job=b", []],
    ["?metadata.job=A", []],
    ["?metadata.nothing=a", []],
    ["?metadata.job=a&state=gone", [gone]],
  ])("%s filters", async (query, expected) => {
    expect(idsOf(await listing(key, query))).toEqual(expected.map(({ sandboxId }) => sandboxId));
  });

  test("more labels than a statement takes values filter as one does", async () => {
    const many = `?${"metadata.job=a&".repeat(200)}`;
    expect(idsOf(await listing(key, many))).toEqual([desktop, one].map((view) => view.sandboxId));
    expect(idsOf(await listing(key, `${many}metadata.job=b`))).toEqual([]);
  });

  test.each([
    "?state=nonsense",
    "?state=",
    "?kind=vm",
    "?limit=x",
    "?limit=",
    "?limit=1e9",
    "?cursor=%00",
    "?cursor=ZZZ!",
    "?nonsense=1",
    "?metadata=1",
  ])("%s has no effect", async (query) => {
    expect(idsOf(await listing(key, query))).toEqual(live);
  });

  test("comes in pages", async () => {
    const seen: string[] = [];
    let query = "?limit=1";
    for (let n = 0; n < 3; n += 1) {
      const page = await listing(key, query);
      expect(page.sandboxes).toHaveLength(1);
      seen.push(...idsOf(page));
      query = `?limit=1&cursor=${page.nextCursor}`;
      expect(page.nextCursor !== undefined).toBe(n < 2);
    }
    expect(seen).toEqual(live);
    expect((await listing(key, "?limit=0")).sandboxes).toHaveLength(1);
  });

  test("of another org has none of them", async () => {
    expect((await listing((await newOrg()).key)).sandboxes).toEqual([]);
  });
});

test("a list of a thousand has at most a hundred on a page, and a filter finds one of them", async () => {
  const { key, orgId } = await newOrg();
  const org = env.ORGS.getByName(orgId);
  for (let n = 0; n < 1000; n += 1) {
    const view = sandboxView(`s${n}`, { metadata: { n: String(n) } });
    const lapsesAt = Date.now() + 600_000;
    await org.reserveSandbox({ view, cap: 1000, kept: UNCAPPED, lapsesAt });
  }
  expect((await listing(key)).sandboxes).toHaveLength(50);
  expect((await listing(key, "?limit=500")).sandboxes).toHaveLength(100);
  expect(idsOf(await listing(key, "?metadata.n=7"))).toEqual(["s7"]);
});

test("a sandbox that has been gone for a day is in no list, and its place is long free", async () => {
  const { key, orgId } = await newOrg("free", { vms: 1 });
  const org = env.ORGS.getByName(orgId);
  const claim = (id: string) => ({
    view: sandboxView(id),
    cap: 1,
    kept: UNCAPPED,
    lapsesAt: Date.now() + 60_000,
  });
  await org.reserveSandbox(claim("a"));
  const goneAt = Date.now() - 86_400_001;
  await org.noteSandbox(sandboxView("a", { state: "gone", closeReason: "idle", goneAt }));
  expect((await listing(key, "?state=gone")).sandboxes).toEqual([]);
  expect(await org.reserveSandbox(claim("b"))).toEqual({ reserved: true });
  expect(await org.reserveSandbox(claim("c"))).toEqual({ reserved: false, holders: ["b"] });
});
