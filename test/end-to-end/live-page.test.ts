// The page by which a person acts in a session (docs/LOGINS.md): what they do there, and what arrives in the session's page.
import { afterAll, beforeAll, describe, vi } from "vitest";
import { LivePageRig } from "../support/process/live-page-rig.ts";
import { missingBrowser } from "../support/process/needs.ts";
import { dialogCases, fileCases } from "./live-page-asks-cases.ts";
import { linkCases } from "./live-page-link-cases.ts";
import { deskCases, phoneCases } from "./live-page-input-cases.ts";

vi.setConfig({ testTimeout: 240_000 });

describe.skipIf(await missingBrowser())("the page of a person", () => {
  let rig: LivePageRig;
  beforeAll(async () => void (rig = await LivePageRig.start()));
  afterAll(() => rig?.close());
  const rigOf = (): LivePageRig => rig;

  describe("at a desk", () => {
    deskCases(rigOf);
  });
  describe("on a phone", () => {
    phoneCases(rigOf);
  });
  describe("that asks", () => {
    dialogCases(rigOf);
  });
  describe("that wants files", () => {
    fileCases(rigOf);
  });
  describe("as a link", () => {
    linkCases(rigOf);
  });
});
