import { rmSync } from "node:fs";
import { ErrorBody } from "@svc/contract/errors.ts";
import { ExecResult } from "@svc/contract/vm/exec.ts";
import { SandboxCreated, SandboxRecord } from "@svc/contract/vm/sandbox.ts";
import { SnapshotRecord } from "@svc/contract/vm/snapshot.ts";
import { Template, TemplateList } from "@svc/contract/vm/template.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { RealMachines } from "../support/process/real-machines.ts";
import { differing, screenshotOf } from "../support/process/screenshots.ts";
import { otherCache } from "../support/process/vm-cache.ts";
import { VmHostProcess } from "../support/process/vm-host.ts";
import { missingDesktop } from "../vm-host/rig/needs.ts";

// Emulated machines on a busy computer: waits are for what happens, these only end what never does.
const PATIENCE = { timeout: 400_000, interval: 500 };
const LONG = 900_000;
/** A part of a picture; the clock of the panel changes, and the hands of nobody are on the rest. */
const SAME = 0.02;

const STEPS = [
  { type: "env", envs: { COLOUR: "blue" } },
  { type: "run", cmd: "mkdir -p /srv/desk && echo $DISPLAY && wmctrl -m" },
  { type: "write", path: "/srv/desk/note", content: "from the template" },
];

describe.skipIf(await missingDesktop())("a desktop", { timeout: LONG }, () => {
  let machines: RealMachines;
  let first: VmHostProcess;
  let second: VmHostProcess | undefined;
  let call: RealMachines["call"];
  const cache = otherCache();
  /** Made of the template, and used by the tests in their order. */
  let template: string;
  let desktop: SandboxCreated;
  let snapshotId: string;
  /** The screen with a terminal that stands still. */
  let still: Buffer;

  beforeAll(async () => {
    machines = await RealMachines.start({}, "vm-first", { SVC_WARM_VM: "0" });
    ({ host: first, call } = machines);
  }, LONG);
  afterAll(async () => {
    await second?.close();
    await machines?.close();
    rmSync(cache, { recursive: true });
  });

  /** Asks again while hosts cannot yet. */
  async function insist(path: string, body?: object): Promise<unknown> {
    return vi.waitFor(async () => {
      const answer = await call(path, "POST", body);
      const text = await answer.text();
      if (answer.status >= 300) throw new Error(`${answer.status} ${text}`);
      return JSON.parse(text) as unknown;
    }, PATIENCE);
  }

  const create = async (body: object): Promise<SandboxCreated> =>
    SandboxCreated.parse(await insist("/sandboxes", { kind: "desktop", ...body }));

  async function sh(id: string, line: string): Promise<string> {
    const body = { cmd: "sh", args: ["-c", line], timeoutMs: 120_000 };
    const answer = await call(`/sandboxes/${id}/exec`, "POST", body);
    const { stdout, stderr } = ExecResult.parse(await answer.json());
    return `${stdout}${stderr}`.trim();
  }

  const recordOf = async (id: string): Promise<SandboxRecord> =>
    SandboxRecord.parse(await (await call(`/sandboxes/${id}`)).json());

  async function refusal(path: string, body: object) {
    const answer = await call(path, "POST", body);
    return [answer.status, ErrorBody.parse(await answer.json()).code];
  }

  /** Builds a template, and follows its log to the end. */
  async function build(compiled: object): Promise<{ built: Template; lines: string }> {
    const body = { name: "desk", kind: "desktop", compiled };
    const { templateId } = Template.parse(await insist("/templates", body));
    const accept = { accept: "text/event-stream" };
    const log = await call(`/templates/${templateId}/logs`, "GET", undefined, accept);
    const lines = await log.text();
    const built = Template.parse(await (await call(`/templates/${templateId}`)).json());
    return { built, lines };
  }

  test("has templates: they are built on its image, and are no sandbox's", async () => {
    const standing = async (): Promise<string | undefined> => {
      const { templates } = TemplateList.parse(await (await call("/templates")).json());
      return templates.find(({ templateId }) => templateId === "default")?.state;
    };
    await vi.waitFor(async () => expect(await standing()).toBe("ready"), PATIENCE);
    const { built, lines } = await build({ from: { template: "default" }, steps: STEPS });
    template = built.templateId;
    // Programs of a step see the screen.
    expect(lines).toMatch(/"line":":1"/);
    expect(lines).toMatch(/"line":"Name: Openbox"/);
    expect(built).toMatchObject({ state: "ready", kind: "desktop", step: 3, memMb: 2048 });
    expect(await refusal("/sandboxes", { template })).toEqual([400, "TemplateKindMismatch"]);
    const second = { name: "more", compiled: { from: { template }, steps: [] } };
    expect(await refusal("/templates", second)).toEqual([400, "TemplateKindMismatch"]);
  });

  test("of a template has what the steps left, and a screen of the size that is asked for", async () => {
    desktop = await create({ template, resolution: "1024x768" });
    const { sandboxId: id } = desktop;
    expect(await sh(id, "cat /srv/desk/note; echo; echo $COLOUR")).toBe("from the template\nblue");
    expect(await recordOf(id)).toMatchObject({ kind: "desktop", template, resolution: "1024x768" });
    // Nothing moves on it: the cursor of the terminal is hidden.
    const program = "sh -c 'printf \"\\033[?25lkept on the screen\"; sleep 100000'";
    await sh(id, `setsid lxterminal -t kept -e "${program}" >/dev/null 2>&1 &`);
    await sh(id, "until wmctrl -l | grep kept; do sleep 0.2; done");
    const before = await screenshotOf(desktop.controlUrl);
    expect([before.width, before.height]).toEqual([1024, 768]);
    await vi.waitFor(async () => {
      const [one, other] = [still, (await screenshotOf(desktop.controlUrl)).png];
      still = other;
      expect(one && (await differing(one, other))).toBe(0);
    }, PATIENCE);
  });

  test("is forked with its screen as it was, and reverted to it with windows and text", async () => {
    const { sandboxId: id } = desktop;
    const taken = await insist(`/sandboxes/${id}/snapshots`, { name: "kept" });
    ({ snapshotId } = SnapshotRecord.parse(taken));
    await sh(id, "pkill lxterminal; while wmctrl -l | grep kept; do sleep 0.2; done");
    const without = (await screenshotOf(desktop.controlUrl)).png;
    expect(await differing(still, without)).toBeGreaterThan(5 * SAME);
    const fork = await create({ fromSnapshot: snapshotId, resolution: "800x600" });
    expect(await recordOf(fork.sandboxId)).toMatchObject({ resolution: "1024x768" });
    expect(await differing(still, (await screenshotOf(fork.controlUrl)).png)).toBeLessThan(SAME);
    expect((await call(`/sandboxes/${fork.sandboxId}`, "DELETE")).status).toBe(200);
    await insist(`/sandboxes/${id}/revert`, { snapshotId });
    expect(await differing(still, (await screenshotOf(desktop.controlUrl)).png)).toBeLessThan(SAME);
    expect(await sh(id, "wmctrl -l | grep -o kept")).toBe("kept");
  });

  test("is what a template can begin with, as it was at a snapshot", async () => {
    const steps = [{ type: "run", cmd: "wmctrl -l | grep -o kept" }];
    const { built, lines } = await build({ from: { snapshot: snapshotId }, steps });
    expect(built).toMatchObject({ state: "ready", kind: "desktop" });
    expect(lines).toMatch(/"line":"kept"/);
    const { sandboxId: id, controlUrl } = await create({ template: built.templateId });
    const { width, height } = await screenshotOf(controlUrl);
    expect([width, height]).toEqual([1280, 720]);
    expect(await sh(id, "wmctrl -l | grep -o kept")).toBe("kept");
    expect((await call(`/sandboxes/${id}`, "DELETE")).status).toBe(200);
  });

  test("goes on at another host with its screen, and can be forked and reverted there", async () => {
    const { sandboxId: id } = desktop;
    await insist(`/desktops/${id}/pause`);
    const bucket = await machines.gateway.miniflare.getR2Bucket("OBJECTS", "gateway");
    // The paused machine's record, and the snapshot.
    await vi.waitFor(async () => {
      const { objects } = await bucket.list();
      const whole = objects.filter(({ key }) => /(rec|snap)_[^/]*\/manifest\.json$/.test(key));
      expect(whole).toHaveLength(2);
    }, PATIENCE);
    await first.kill("SIGKILL");
    second = await VmHostProcess.start(machines.gateway, "vm-second", {
      SVC_CACHE_DIR: cache,
      SVC_WARM_VM: "0",
      SVC_WARM_DESKTOP: "0",
    });
    expect(await insist(`/desktops/${id}/resume`)).toMatchObject({ status: "ready" });
    expect(await differing(still, (await screenshotOf(desktop.controlUrl)).png)).toBeLessThan(SAME);
    expect(await recordOf(id)).toMatchObject({ state: "running", resolution: "1024x768" });
    await sh(id, "pkill lxterminal; while wmctrl -l | grep kept; do sleep 0.2; done");
    const fork = await create({ fromSnapshot: snapshotId });
    expect(await differing(still, (await screenshotOf(fork.controlUrl)).png)).toBeLessThan(SAME);
    await insist(`/sandboxes/${id}/revert`, { snapshotId });
    expect(await differing(still, (await screenshotOf(desktop.controlUrl)).png)).toBeLessThan(SAME);
    // A screen that is started again is as large as the one before.
    await sh(id, "pkill -KILL Xtigervnc; sleep 1; until wmctrl -m; do sleep 0.2; done");
    // The call that finds that the screen has ended is told so.
    const again = await vi.waitFor(() => screenshotOf(desktop.controlUrl), PATIENCE);
    expect([again.width, again.height]).toEqual([1024, 768]);
    for (const one of [id, fork.sandboxId])
      expect((await call(`/sandboxes/${one}`, "DELETE")).status).toBe(200);
  });
});
