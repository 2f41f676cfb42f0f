import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingBrowser, missingStealth } from "../../support/process/needs.ts";
import { Lookout, found } from "./lookout.ts";
import { PATCHED_PAGE } from "./patched-page.ts";
import {
  FAST_BY_PLAYWRIGHT,
  PLAIN_BY_PLAYWRIGHT,
  STEALTH_BY_PATCHRIGHT,
  STEALTH_BY_PLAYWRIGHT,
  STEALTH_BY_PUPPETEER,
  STEALTH_BY_RAW_CALLS,
  STEALTH_IN_NEW_TAB,
  STEALTH_RECORDED,
} from "./subjects.ts";

const isMissing = Boolean((await missingStealth()) ?? (await missingBrowser()));
/** The rows that give away a client that listens to the console, in any browser. */
const LISTENS = ["what the console reads", "time of console.table"];

describe.skipIf(isMissing)("a page that looks for marks of a driven browser", () => {
  let lookout: Lookout;

  beforeAll(async () => {
    lookout = await Lookout.start();
  });
  afterAll(() => lookout.close());

  test.each([STEALTH_BY_RAW_CALLS, STEALTH_IN_NEW_TAB, STEALTH_BY_PATCHRIGHT, STEALTH_RECORDED])(
    "finds nothing in: $name",
    async (subject) => {
      expect(found(await lookout.look(subject))).toEqual([]);
    },
  );

  test.each([STEALTH_BY_PLAYWRIGHT, STEALTH_BY_PUPPETEER])(
    "finds that the client listens to the console, and nothing else, in: $name",
    async (subject) => {
      expect(found(await lookout.look(subject))).toEqual(LISTENS);
    },
  );

  test("finds a plain headed browser by what its driver leaves", async () => {
    expect(found(await lookout.look(PLAIN_BY_PLAYWRIGHT))).toEqual(
      expect.arrayContaining(["navigator.webdriver", "WebGL", ...LISTENS]),
    );
  });

  test("finds something in every row: in a fast session, or where a driver patches a page", async () => {
    const fast = await lookout.look(FAST_BY_PLAYWRIGHT);
    const patched = await lookout.look(PATCHED_PAGE);
    const covered = fast.filter(({ isCovered }) => isCovered).map(({ check }) => check);
    const either = new Set([...found(fast), ...found(patched)]);
    expect(covered.filter((check) => !either.has(check))).toEqual([]);
  });
});
