import type { ExitOffer } from "@svc/contract/host-protocol/exits.ts";
import { beforeEach, expect, test } from "vitest";
import { call, clearFleet, newOrg, newPool } from "../../support/worker/gateway.ts";

const NONE = { residential: [], mobile: [], static: [] };
const { key } = await newOrg();
const countries = async () => (await call("/proxy/countries", { bearer: key })).json();
const offer = (tier: ExitOffer["tier"], ...of: ExitOffer["countries"]): ExitOffer => ({
  tier,
  countries: of,
  traits: [],
});

beforeEach(clearFleet);

test("without an exit nothing is enabled", async () => {
  await newPool();
  await newPool({ exits: [] });
  expect(await countries()).toEqual({ enabled: false, countries: [], tiers: NONE });
});

test("countries are those that pools are configured for, sorted, of all tiers and pools together", async () => {
  await newPool({ exits: [offer("mobile", "us", "de"), offer("static", "jp")] });
  await newPool({ exits: [offer("mobile", "br", "de")] });
  expect(await countries()).toEqual({
    enabled: true,
    countries: ["br", "de", "jp", "us"],
    tiers: { ...NONE, mobile: ["br", "de", "us"], static: ["jp"] },
  });
});

test("a pool that is configured anew is listed as it is now", async () => {
  const pool = await newPool({ exits: [offer("residential", "us")] });
  expect(await countries()).toMatchObject({ countries: ["us"] });
  await pool.beat({ exits: [] });
  expect(await countries()).toEqual({ enabled: false, countries: [], tiers: NONE });
});
