import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { call, json } from "../../support/worker/gateway.ts";
import { snapshotting } from "../../support/worker/snapshots.ts";
import { newVolume } from "../../support/worker/volumes.ts";
import { ADMIN_TOKEN } from "../../support/secrets.ts";

/** What a create asks the database about: by a text of each statement. */
const CREDIT = "credit_cents -";
const SNAPSHOT = "AS children";
const VOLUMES = "FROM volumes";

/** A database whose answers to some statements are held; `onAsked` hears of each that is asked. */
function holding(texts: string[], onAsked: (text: string) => Promise<void>): D1Database {
  const held = (statement: D1PreparedStatement, text: string): D1PreparedStatement =>
    new Proxy(statement, {
      get(target, name) {
        if (name === "bind") return (...values: unknown[]) => held(target.bind(...values), text);
        return async () => {
          await onAsked(text);
          return name === "first" ? target.first() : target.all();
        };
      },
    });
  return new Proxy(env.DB, {
    get(target, name) {
      if (name !== "prepare") return target.batch.bind(target);
      return (sql: string) => {
        const text = texts.find((one) => sql.includes(one));
        const statement = target.prepare(sql);
        return text === undefined ? statement : held(statement, text);
      };
    },
  });
}

/** A prepaid org with a snapshot and a volume, and a create that names both. */
async function prepaid(cents: number) {
  const { key, orgId, taken } = await snapshotting();
  const { snapshotId } = await taken();
  const { volumeId } = await newVolume(key);
  const patch = { ...json({ creditCents: cents }, "PATCH"), bearer: ADMIN_TOKEN };
  await call(`/admin/orgs/${orgId}`, patch);
  const create = (DB: D1Database, fromSnapshot: string, volume: string) =>
    app.request(
      "/sandboxes",
      {
        ...json({ fromSnapshot, volumes: [{ volumeId: volume, path: "/d" }] }),
        headers: { authorization: `Bearer ${key}` },
      },
      { ...env, DB },
    );
  return { snapshotId, volumeId, create };
}

const ALL = [CREDIT, SNAPSHOT, VOLUMES];

test("credit, snapshot and volumes of a create are asked for at once", async () => {
  const { snapshotId, create } = await prepaid(1000);
  const seen = new Set<string>();
  let resolve = (): void => undefined;
  const allAsked = new Promise<void>((done) => (resolve = done));
  // One after the other this would never end.
  const DB = holding(ALL, async (text) => {
    seen.add(text);
    if (seen.size === ALL.length) resolve();
    await allAsked;
  });
  const response = await create(DB, snapshotId, `vol_${"0".repeat(32)}`);
  expect([response.status, await response.json()]).toMatchObject([404, { code: "NotFound" }]);
  expect([...seen].toSorted()).toEqual(ALL.toSorted());
});

describe("of several refusals the first in the order of the document counts, whichever came last:", () => {
  test.each([
    ["credit", CREDIT, 0, "snap_no", "vol_no", 402, "InsufficientCredit"],
    ["snapshot", SNAPSHOT, 1000, "snap_no", "vol_no", 404, "There is no such snapshot."],
    ["volume", VOLUMES, 1000, "", "vol_no", 404, "There is no such volume."],
  ])("%s", async (_name, last, cents, snapshot, volume, status, words) => {
    const { snapshotId, create } = await prepaid(cents);
    const others = new Set(ALL.filter((text) => text !== last));
    let resolve = (): void => undefined;
    const othersAsked = new Promise<void>((done) => (resolve = done));
    const DB = holding(ALL, async (text) => {
      others.delete(text);
      if (others.size === 0) resolve();
      if (text === last) await othersAsked;
    });
    const response = await create(DB, snapshot === "" ? snapshotId : snapshot, volume);
    expect(response.status).toBe(status);
    expect(await response.text()).toContain(words);
  });
});
