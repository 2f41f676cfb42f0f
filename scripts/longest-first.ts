import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The rooms whose files take longest, the longest first: they boot machines and start whole services. */
const LONG = ["vm-host", "end-to-end", "start", "conformance", "browser-pool", "house"];

/** Starts the longest files first, so that none is still running when all others are done. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // Within a room: by the duration of the last run here, else by size.
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const [, room = ""] = relative("", moduleId).split("/");
  const rank = LONG.indexOf(room);
  return rank === -1 ? LONG.length : rank;
}
