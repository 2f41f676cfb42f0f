// What the sdk follows goes on over lost connections as long as one of them holds, and ends when none does.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ConnectionError, type Sandbox } from "@svc/sdk/index.ts";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { MachineRig } from "./machine-rig.ts";

// For a busy computer: the default is a second.
const SOON = { timeout: 60_000 };

let rig: MachineRig;
let box: Sandbox;
beforeAll(async () => void (rig = await MachineRig.start()));
afterAll(() => rig.close());
beforeEach(async () => void (box = await rig.sandbox()));
afterEach(() => {
  vi.restoreAllMocks();
  rig.cut = null;
  box.close();
});

/** Sets the monotonic clock forward. */
function laterBy(ms: number) {
  const now = performance.now.bind(performance);
  return vi.spyOn(performance, "now").mockImplementation(() => now() + ms);
}

test("a command goes on when its connection is lost after minutes without output", async () => {
  const go = join(rig.home, "go-after-silence");
  let isAttached = false;
  rig.cut = (text) => {
    isAttached ||= text.includes('"commands.attach"');
    return false;
  };
  const silent = box.commands.sh(`while [ ! -e ${go} ]; do sleep 0.1; done; echo said`);
  await vi.waitFor(() => expect(isAttached).toBe(true), SOON);
  const clock = laterBy(120_000);
  const before = rig.opened;
  rig.cutAll();
  await vi.waitFor(() => expect(rig.opened).toBe(before + 1), SOON);
  clock.mockRestore();
  await writeFile(go, "");
  expect(await silent).toMatchObject({ exitCode: 0, stdout: "said\n" });
});

test.each<[string, string, () => Promise<unknown>]>([
  ["a process", "commands.attach", async () => (await box.commands.start("sleep", ["10"])).wait()],
  [
    "a watch",
    "files.watch",
    async () => {
      for await (const _ of box.files.watch(rig.home));
    },
  ],
])(
  "%s whose connections are all lost at once ends after a minute",
  async (_name, method, follow) => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    let lost = 0;
    // However long it takes here: only losses take time.
    const begun = performance.now();
    vi.spyOn(performance, "now").mockImplementation(() => begun + lost * 7_000);
    rig.cut = function cut(text) {
      if (!text.includes(`"${method}"`)) return false;
      lost += 1;
      queueMicrotask(() => (rig.cut = cut));
      return true;
    };
    await expect(follow()).rejects.toBeInstanceOf(ConnectionError);
    expect(lost * 7).toBeGreaterThan(60);
  },
);
