import { evictDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { SandboxRecord } from "@svc/contract/vm/sandbox.ts";
import { running } from "../../support/worker/asleep.ts";
import { call } from "../../support/worker/gateway.ts";
import { expiryOf, rewind } from "../../support/worker/vm-host.ts";

test("a sandbox's record says what it is, and reading it is use of the sandbox", async () => {
  const { id, key, path } = await running({ metadata: { a: "b" } });
  const before = await rewind(id);
  const response = await call(path, { bearer: key });
  expect(response.status).toBe(200);
  expect(SandboxRecord.parse(await response.json())).toMatchObject({
    sandboxId: id,
    kind: "sandbox",
    state: "running",
    metadata: { a: "b" },
    template: "base",
  });
  expect(await expiryOf(id)).toBeGreaterThan(before);
});

test("a sandbox survives the eviction of its object", async () => {
  const { stub, record, id } = await running({ metadata: { a: "b" } }, 9);
  await evictDurableObject(stub);
  expect(await record()).toMatchObject({ sandboxId: id, state: "running", metadata: { a: "b" } });
});
