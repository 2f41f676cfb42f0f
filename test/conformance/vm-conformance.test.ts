import { afterAll, describe, expect, test } from "vitest";
import { coverageTable, missingRows, strangeRows } from "./coverage.ts";
import { VM_SECTIONS } from "./vm-sections/index.ts";
import { VM_ADDITIVE_TABLES, VM_TABLES, vmDecided } from "./vm-tables.ts";
import { vmServiceOf } from "./vm-caller.ts";
import { openVmTarget } from "./vm-target.ts";

const TABLES = { ...VM_TABLES, ...VM_ADDITIVE_TABLES };
const ALL = ["desktop", "snapshots", "volumes.mount"];

// Machines may be real ones.
describe("document 2", { timeout: 240_000 }, async () => {
  const service = await vmServiceOf(await openVmTarget());
  afterAll(async () => {
    console.log(coverageTable("document 2", TABLES));
    await service.close();
  });

  describe.each(Object.entries(VM_SECTIONS))("%s", (_name, section) => {
    section(service);
  });

  test("nothing was answered that the document does not know", () => {
    expect(strangeRows(TABLES, vmDecided)).toEqual([]);
  });

  const isWhole = ALL.every((capability) => service.can.has(capability));
  test.runIf(isWhole)("all that the document knows and a black box can provoke was seen", () => {
    expect(missingRows(TABLES, service.faults ? ["seen", "caused"] : ["seen"])).toEqual([]);
  });
});
