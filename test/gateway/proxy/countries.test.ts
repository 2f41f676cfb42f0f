import { PROXY_COUNTRIES } from "@svc/contract/browser/proxy.ts";
import { expect, test } from "vitest";
import { call, newOrg, newPool } from "../../support/worker/gateway.ts";

test("without an exit nothing is enabled; a tier that a pool has serves every country, sorted", async () => {
  const { key } = await newOrg();
  const countries = async () => (await call("/proxy/countries", { bearer: key })).json();
  const none = { residential: [], mobile: [], static: [] };
  expect(await countries()).toEqual({ enabled: false, countries: [], tiers: none });
  const pool = await newPool();
  await pool.beat({ proxyTiers: ["mobile"] });
  const all = [...PROXY_COUNTRIES].toSorted();
  expect(await countries()).toEqual({
    enabled: true,
    countries: all,
    tiers: { ...none, mobile: all },
  });
});
