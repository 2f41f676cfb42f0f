import { mintSessionId } from "@svc/contract/tokens.ts";
import { expect, test } from "vitest";
import { call, json } from "../../support/worker/gateway.ts";
import { ownSession } from "../../support/worker/replays.ts";
import { HOST_TOKEN } from "../../support/secrets.ts";

test("a report of a recording is 204 with no body, and may come again", async () => {
  const { report } = await ownSession();
  for (const state of ["pending", "ready", "ready"]) {
    const response = await report({ state });
    expect([response.status, await response.text()]).toEqual([204, ""]);
  }
});

test("a report of a recording with a wrong bearer is 401, malformed 400, of a forged id 404", async () => {
  const { report } = await ownSession();
  expect((await report({ state: "ready" }, "wrong")).status).toBe(401);
  expect((await report({ state: "odd" })).status).toBe(400);
  const forged = await mintSessionId("another", { org: "o", issuedAt: 0 });
  const init = { ...json({ state: "ready" }), bearer: HOST_TOKEN };
  expect((await call(`/internal/sessions/${forged}/recording`, init)).status).toBe(404);
});
