import { afterAll, afterEach, describe, expect, test } from "vitest";
import { missingBrowser } from "../support/process/needs.ts";
import { serviceOf } from "./caller.ts";
import { BROWSER_TABLES, browserDecided } from "./browser-tables.ts";
import { coverageTable, missingRows, strangeRows } from "./coverage.ts";
import { errors, SECTIONS, type Section, WAITING } from "./sections/index.ts";
import { isDeployed, openTarget } from "./target.ts";

const missing = isDeployed() ? undefined : await missingBrowser();

// Without a browser it is skipped, and the report names the reason.
const reason = missing ? `: ${missing}` : "";
describe.skipIf(missing)(`document 1${reason}`, { timeout: 240_000 }, async () => {
  const target = missing ? null : await openTarget();
  const service = target && (await serviceOf(target));
  afterEach(({ task }) => {
    if (task.result?.state === "fail") console.error(target?.complaints.slice(-20).join("\n"));
  });
  afterAll(async () => {
    console.log(coverageTable("document 1", BROWSER_TABLES));
    await service?.close();
  });

  const run = (section: Section): void => {
    if (service) section(service);
  };
  describe.concurrent("together", () => {
    describe.each(Object.entries(WAITING))("%s", (_name, section) => {
      run(section);
    });
    describe("in turn", () => {
      describe.each(Object.entries(SECTIONS))("%s", { concurrent: false }, (_name, section) => {
        run(section);
      });
    });
  });
  describe("errors", () => {
    run(errors);
  });

  test("every status of the document that a black box can provoke was seen, and no other", () => {
    expect(missingRows(BROWSER_TABLES)).toEqual([]);
    expect(strangeRows(BROWSER_TABLES, browserDecided)).toEqual([]);
  });
});
