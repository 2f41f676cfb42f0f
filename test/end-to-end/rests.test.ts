import { ExecResult } from "@svc/contract/vm/exec.ts";
import { SandboxCreated, SandboxList } from "@svc/contract/vm/sandbox.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { RealMachines } from "../support/process/real-machines.ts";
import { missingMachine } from "../vm-host/rig/needs.ts";

// Emulated machines on a busy computer: waits are for what happens, these only end what never does.
const PATIENCE = { timeout: 240_000, interval: 500 };
const LONG = 900_000;

describe.skipIf(await missingMachine())("a real machine rests", { timeout: LONG }, () => {
  let machines: RealMachines;

  beforeAll(async () => {
    machines = await RealMachines.start();
  }, LONG);
  afterAll(() => machines?.close());

  async function create(body: object): Promise<string> {
    const response = await vi.waitFor(async () => {
      const answer = await machines.call("/sandboxes", "POST", { memMb: 512, ...body });
      if (answer.status >= 500) throw new Error(await answer.text());
      return answer;
    }, PATIENCE);
    return SandboxCreated.parse(await response.json()).sandboxId;
  }

  async function sh(id: string, line: string): Promise<string> {
    const body = { cmd: "sh", args: ["-c", line] };
    const answer = await machines.call(`/sandboxes/${id}/exec`, "POST", body);
    return ExecResult.parse(await answer.json()).stdout.trim();
  }

  /** By the list, which is no use of it. */
  async function isPaused(id: string): Promise<void> {
    await vi.waitFor(async () => {
      const { sandboxes } = SandboxList.parse(await (await machines.call("/sandboxes")).json());
      expect(sandboxes.find(({ sandboxId }) => sandboxId === id)?.state).toBe("paused");
    }, PATIENCE);
  }

  const WORDS = "abcd";
  // A shell that keeps in a variable alone what it has been told, and says it when it is asked.
  const KEEPER =
    "mkfifo /run/in; while :; do read word < /run/in; all=$all$word; echo $all > /run/out; done";

  // They wait for time to pass, so they wait together.
  test.concurrent.each([
    ["when it is asked to", {}],
    // Should this computer stand still for longer than that before a command, the command wakes it.
    [
      "when its window is over",
      { timeoutMs: 5_000, lifecycle: { onTimeout: "pause", autoResume: true } },
    ],
    [
      "when it was parked long enough",
      { lifecycle: { parkAfterMs: 1, hibernateAfterParkedMs: 1, autoResume: true } },
    ],
  ])(
    "%s, again and again: memory, disk and what was never written out are there",
    async (why, body) => {
      const id = await create(body);
      // One command a life: whatever a busy computer does in between, it rests only after it.
      const start = `setsid sh -c '${KEEPER}' >/dev/null 2>&1 & while ! [ -p /run/in ]; do :; done`;
      for (const [at, word] of WORDS.split("").entries()) {
        const look = at === 0 ? start : "cat /run/out /root/note; rm /run/out";
        const tell = `echo ${word} > /run/in; while ! [ -s /run/out ]; do :; done`;
        // In the page cache alone.
        const write = `printf ${word} >> /root/note`;
        const before = WORDS.slice(0, at);
        expect(await sh(id, `${look}\n${tell}\n${write}`)).toBe(
          at === 0 ? "" : `${before}\n${before}`,
        );
        if (why === "when it is asked to") await machines.call(`/sandboxes/${id}/pause`, "POST");
        await isPaused(id);
        const resumed = await machines.call(`/sandboxes/${id}/resume`, "POST");
        expect([resumed.status, await resumed.json()]).toMatchObject([200, { state: "running" }]);
      }
      expect(await sh(id, "cat /run/out /root/note")).toBe(`${WORDS}\n${WORDS}`);
      expect((await machines.call(`/sandboxes/${id}`, "DELETE")).status).toBe(200);
    },
  );
});
