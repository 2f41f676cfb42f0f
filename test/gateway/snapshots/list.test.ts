import { describe, expect, test } from "vitest";
import { call, newOrg } from "../../support/worker/gateway.ts";
import { callerOf, snapshotting } from "../../support/worker/snapshots.ts";
import { newSandbox } from "../../support/worker/vm-host.ts";

describe("GET /snapshots", async () => {
  const all = await snapshotting();
  const { key, list, taken, remove } = all;
  const one = await taken({ name: "one", metadata: { job: "a", "odd key=&\"'": "ü" } });
  const two = await taken({ name: "two", metadata: { job: "b", team: "x" } });
  const { sandboxId } = await newSandbox(key, { kind: "desktop" });
  const desktop = await callerOf(key, sandboxId).taken({ name: "three", metadata: { job: "a" } });
  const gone = await taken({ metadata: { job: "a" } });
  await remove(`/snapshots/${gone.snapshotId}`);

  test("is the org's, newest first, each as its record is", async () => {
    expect(await list()).toEqual({ snapshots: [desktop, two, one] });
    const { key: other } = await newOrg();
    expect(await callerOf(other, "").list()).toEqual({ snapshots: [] });
  });

  test.each([
    ["?kind=desktop", [desktop]],
    ["?kind=sandbox", [two, one]],
    ["?kind=Sandbox", [desktop, two, one]],
    [`?sandboxId=${sandboxId}`, [desktop]],
    ["?sandboxId=nobody", []],
    ["?metadata.job=a", [desktop, one]],
    ["?metadata.job=a&kind=sandbox", [one]],
    ["?metadata.job=b&metadata.team=x", [two]],
    ["?metadata.job=a&metadata.job=b", []],
    ["?metadata.job=A", []],
    [`?metadata.${encodeURIComponent("odd key=&\"'")}=${encodeURIComponent("ü")}`, [one]],
    ["?state=failed&other=1", [desktop, two, one]],
  ])("%s", async (query, expected) => {
    const names = (of: { name: string }[]) => of.map(({ name }) => name);
    expect(names((await list(query)).snapshots)).toEqual(names(expected));
  });

  test("goes page by page, also while what was shown is deleted", async () => {
    const first = await list("?limit=1");
    expect(first.snapshots).toEqual([desktop]);
    const second = await list(`?limit=1&cursor=${first.nextCursor}`);
    expect(second.snapshots).toEqual([two]);
    const third = await list(`?limit=1&cursor=${second.nextCursor}`);
    expect(third).toEqual({ snapshots: [one] });
    expect(third).not.toHaveProperty("nextCursor");
  });

  test.each(["%00", "%ff", "🦄", "-1", "1e999", "null", "' OR 1=1 --", "zz.zz", "x".repeat(9000)])(
    "a cursor, limit, kind, sandboxId or label of %o is a list",
    async (value) => {
      for (const name of ["cursor", "limit", "kind", "sandboxId", "metadata.a", "metadata."]) {
        const response = await call(`/snapshots?${name}=${value}`, { bearer: key });
        expect([name, response.status]).toEqual([name, 200]);
      }
    },
  );

  test("a hundred labels and more are a filter too", async () => {
    const labels = Array.from({ length: 150 }, (_, n) => `metadata.k${n}=v`).join("&");
    expect(await list(`?${labels}`)).toEqual({ snapshots: [] });
  });
});
