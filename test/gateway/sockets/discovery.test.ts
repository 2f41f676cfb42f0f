import { env } from "cloudflare:workers";
import { LIMITS } from "@svc/contract/limits.ts";
import { mintSessionId } from "@svc/contract/tokens.ts";
import { describe, expect, test } from "vitest";
import { fleet } from "../../../durable-objects/fleet/registry.ts";
import { call, newOrg, newPool, newSession } from "../../support/worker/gateway.ts";
import { SIGNING_SECRET } from "../../support/secrets.ts";

async function placed() {
  for (const { hostId } of await fleet(env).list()) await fleet(env).remove(hostId);
  const pool = await newPool();
  const { key, orgId } = await newOrg();
  return { pool, key, orgId, id: await newSession(key) };
}

describe.each(["/json/version", "/json/version/", "/json/list", "/json/list/", "/json", "/json/"])(
  "/cdp/:sessionId%s refuses as an upgrade does",
  (end) => {
    async function refusal(id: string) {
      const response = await call(`/cdp/${id}${end}`);
      const plain = response.headers.get("content-type")?.startsWith("text/plain");
      await response.body?.cancel();
      return { status: response.status, plain };
    }

    test("a forged or malformed id is 401, and so is one of 90 minutes", async () => {
      const { id, orgId: org } = await placed();
      const forged = await mintSessionId("another", { org, issuedAt: Date.now() });
      const issuedAt = Date.now() - LIMITS.socketUrlAgeMs;
      const old = await mintSessionId(SIGNING_SECRET, { org, issuedAt });
      for (const bad of ["nope", id.slice(0, -1), forged, old])
        expect(await refusal(bad)).toEqual({ status: 401, plain: true });
    });

    test("a session that has ended is 404, and so is one that its pool does not hold", async () => {
      const { id, key, pool } = await placed();
      expect(await refusal(id)).toEqual({ status: 404, plain: true });
      expect((await pool.calls()).map(({ method, path }) => `${method} ${path}`)).toContain(
        `GET /cdp/${id}`,
      );
      await call(`/sessions/${id}`, { method: "DELETE", bearer: key });
      expect(await refusal(id)).toEqual({ status: 404, plain: true });
    });

    test("a pool that answers something else is 502", async () => {
      const { id, pool } = await placed();
      await pool.steer({ seen: { attachedClients: 0, opens: 0, closes: 0 } });
      expect(await refusal(id)).toEqual({ status: 502, plain: true });
    });
  },
);
