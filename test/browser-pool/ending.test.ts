import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { placesOf } from "../../browser-pool/playwrights/ending.ts";

/** The last words of a Node whose program has thrown on its second line. */
async function wordsOf(limit: number, ending: "mjs" | "cjs"): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "ending-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, `program.${ending}`);
  await writeFile(
    file,
    `Error.stackTraceLimit = ${limit};\nsetImmediate(() => { throw new Error("of a client"); });\n`,
  );
  return spawnSync(process.execPath, [file], { encoding: "utf8" }).stderr.trim();
}

test.each(["mjs", "cjs"] as const)(
  "the place of an exception without a stack is told, and not its text, in a %s",
  async (ending) => {
    const places = placesOf({ lastWords: await wordsOf(0, ending) });
    expect(places).toHaveLength(1);
    expect(places[0]).toMatch(new RegExp(`/program\\.${ending}:2$`));
  },
);

test("the first places of a stack are told with it", async () => {
  const places = placesOf({ lastWords: await wordsOf(10, "mjs") });
  expect(places).toHaveLength(3);
  expect(places[1]).toMatch(/^at .*program\.mjs:2:\d+/);
});
