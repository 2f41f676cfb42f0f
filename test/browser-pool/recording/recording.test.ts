import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Recording } from "../../../browser-pool/recording/recording.ts";
import { ReplayFile } from "../../../browser-pool/recording/replay-file.ts";

let folder: string;

beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "recording-"))));
afterEach(() => rm(folder, { recursive: true }));

test("what the service notes of a tab is a line of the replay, and nothing is noted after the end", async () => {
  const draft = join(folder, "draft");
  const path = join(folder, "finished");
  const recording = new Recording({
    file: await ReplayFile.create(draft, { version: 1 }, 0),
    draft,
    waiting: { path, org: "org", session: "s" },
    script: () => "",
    log: pino({ level: "silent" }),
    onEnd: () => {},
  });
  recording.note("captcha.solved", "tab-1", { kind: "turnstile", ms: 12 });
  await recording.stop();
  recording.note("captcha.failed", "tab-1", {});
  await recording.finished;
  const lines = gunzipSync(await readFile(path))
    .toString()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
  expect(lines).toMatchObject([
    { data: { tag: "svc.session" } },
    {
      type: 5,
      data: { tag: "captcha.solved", payload: { kind: "turnstile", ms: 12 } },
      tabId: "tab-1",
    },
    { data: { tag: "svc.end" } },
  ]);
});
