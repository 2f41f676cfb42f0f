import { afterAll, describe, expect, test } from "vitest";
import { missingBrowser } from "../support/needs.ts";
import { serviceOf } from "./caller.ts";
import { coverageTable, missingStatuses, strangeStatuses } from "./coverage.ts";
import { SECTIONS } from "./sections/index.ts";
import { isDeployed, openTarget } from "./target.ts";

const missing = isDeployed() ? undefined : await missingBrowser();

describe.skipIf(missing)("document 1", { timeout: 60_000 }, async () => {
  if (missing) return;
  const target = await openTarget();
  const service = await serviceOf(target);
  afterAll(async () => {
    console.log(coverageTable());
    await target.close();
  });

  describe.each(Object.entries(SECTIONS))("%s", (_name, section) => {
    section(service);
  });

  test("every status of the document that a black box can provoke was seen, and no other", () => {
    expect(missingStatuses()).toEqual([]);
    expect(strangeStatuses()).toEqual([]);
  });
});
