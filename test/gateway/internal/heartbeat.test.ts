import { fleet } from "../../../durable-objects/fleet/registry.ts";
import { newPool } from "../../support/worker/gateway.ts";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { app } from "../../../src/app.ts";

const known = async () => (await fleet(env).list()).map(({ hostId }) => hostId);

test("a heartbeat from an unknown host makes it known", async () => {
  const pool = await newPool();
  expect(await known()).toContain(pool.hostId);
});

test("a heartbeat with a wrong bearer is 401, malformed 400, and neither registers", async () => {
  const pool = await newPool();
  await fleet(env).remove(pool.hostId);
  const beat = await pool.heartbeat();
  expect((await pool.post(beat, "wrong")).status).toBe(401);
  const response = await pool.post({ ...beat, seq: -1 });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ code: "ValidationError", field: "seq" });
  expect(await known()).not.toContain(pool.hostId);
});

test("without SVC_HOST_TOKEN no host is let in, whatever it shows", async () => {
  for (const SVC_HOST_TOKEN of [undefined, ""]) {
    for (const headers of [{}, { authorization: "Bearer " }]) {
      const init = { method: "POST", headers };
      const bare = { ...env, SVC_HOST_TOKEN };
      const response = await app.request("/internal/hosts/a/heartbeat", init, bare);
      expect(response.status).toBe(501);
    }
  }
});
