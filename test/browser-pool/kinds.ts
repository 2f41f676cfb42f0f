import { BrowserKind } from "@svc/contract/browser/session.ts";
import { describe } from "vitest";
import { missingKind } from "../support/process/needs.ts";

const KINDS = await Promise.all(
  BrowserKind.options.map(async (kind) => ({ kind, missing: await missingKind(kind) })),
);

/** The same tests for browsers of each kind: customers find in both what either of them has. */
export function describeKinds(name: string, tests: (kind: BrowserKind) => void): void {
  for (const { kind, missing } of KINDS)
    describe.skipIf(missing)(`${name} (${kind})`, () => {
      tests(kind);
    });
}
