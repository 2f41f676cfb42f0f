import { ConsoleToken } from "@svc/contract/browser/login.ts";
import { mintConsoleToken } from "@svc/contract/tokens/console.ts";
import { expect, test } from "vitest";
import { ADMIN_TOKEN, SIGNING_SECRET } from "../../support/secrets.ts";
import { call, newOrg } from "../../support/worker/gateway.ts";

const list = (bearer: string) => call("/console/api/logins?profileId=prof_none", { bearer });
const minted = async (bearer: string): Promise<ConsoleToken> =>
  ConsoleToken.parse(await (await call("/console/api/token", { method: "POST", bearer })).json());

test("an API key is given a token for 15 minutes, which opens the console's routes and no others", async () => {
  const { key } = await newOrg();
  const { token, expiresInSeconds } = await minted(key);
  expect(expiresInSeconds).toBe(15 * 60);
  expect((await list(token)).status).toBe(404);
  for (const path of ["/sessions", "/profiles", "/usage"])
    expect((await call(path, { bearer: token })).status).toBe(401);
  expect((await call("/console/api/token", { method: "POST", bearer: token })).status).toBe(401);
});

test("a token that has expired, is forged, or whose key was revoked is 401", async () => {
  const { key, keyId, orgId } = await newOrg();
  const mint = (secret: string, facts: object = {}) =>
    mintConsoleToken(secret, { org: orgId, keyId, expiresAt: Date.now() + 60_000, ...facts });
  expect((await list(await mint(SIGNING_SECRET))).status).toBe(404);
  const other = await newOrg();
  for (const bearer of [
    await mint("another secret"),
    await mint(SIGNING_SECRET, { expiresAt: Date.now() - 1 }),
    // This token's key is another org's.
    await mint(SIGNING_SECRET, { org: other.orgId }),
    await mint(SIGNING_SECRET, { keyId: "x" }),
  ])
    expect((await list(bearer)).status).toBe(401);
  const fresh = await newOrg();
  const { token } = await minted(fresh.key);
  expect((await list(token)).status).toBe(404);
  expect(key).not.toBe(token);
});

test("a token of a key that is revoked before it is used is 401", async () => {
  const { keyId, orgId } = await newOrg();
  await call(`/admin/keys/${keyId}`, { method: "DELETE", bearer: ADMIN_TOKEN });
  const claims = { org: orgId, keyId, expiresAt: Date.now() + 60_000 };
  expect((await list(await mintConsoleToken(SIGNING_SECRET, claims))).status).toBe(401);
});
