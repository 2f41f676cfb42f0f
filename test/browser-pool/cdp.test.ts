import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "@svc/host-kit/log.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Envelope, EnvelopeReader } from "../../browser-pool/cdp/envelope.ts";
import type { JsonObject } from "../../browser-pool/cdp/envelope.ts";
import type { MuxClient } from "../../browser-pool/cdp/sessions.ts";
import { Allowance } from "../../browser-pool/egress/allowance.ts";
import { judge } from "../../browser-pool/launch/fitness.ts";
import { launchSlot } from "../../browser-pool/slots/launch.ts";
import type { Slot } from "../../browser-pool/slots/slot.ts";
import { rootOf } from "../../browser-pool/playwrights/folders.ts";
import { PlaywrightProcesses } from "../../browser-pool/playwrights/processes.ts";
import { missingBrowser } from "../support/process/needs.ts";
import { below } from "./processes.ts";

const SESSION = "0123456789ABCDEF0123456789ABCDEF";
const OTHER = "FEDCBA9876543210FEDCBA9876543210";

describe("an envelope reads who a message is for without parsing it", () => {
  const CASES: [
    string,
    string,
    { id: number | null; method: string | null; sessionId: string | null },
  ][] = [
    [
      "a reply of a session",
      `{"id":12,"result":{},"sessionId":"${SESSION}"}`,
      { id: 12, method: null, sessionId: SESSION },
    ],
    [
      "a refusal of a session",
      `{"id":3,"error":{"code":-1,"message":"x"},"sessionId":"${SESSION}"}`,
      { id: 3, method: null, sessionId: SESSION },
    ],
    [
      "an event of a session",
      `{"method":"Page.loaded","params":{},"sessionId":"${SESSION}"}`,
      { id: null, method: "Page.loaded", sessionId: SESSION },
    ],
    [
      "a reply without a session",
      `{"id":12,"result":{"sessionId":"${OTHER}"}}`,
      { id: 12, method: null, sessionId: null },
    ],
    [
      "an event that names a session",
      `{"method":"Target.detachedFromTarget","params":{"sessionId":"${OTHER}"}}`,
      { id: null, method: "Target.detachedFromTarget", sessionId: null },
    ],
    [
      "members in another order",
      `{"sessionId":"${SESSION}","result":{"id":9},"id":12}`,
      { id: 12, method: null, sessionId: SESSION },
    ],
    [
      "text that looks like a session",
      `{"id":1,"result":{"value":",\\"sessionId\\":\\"${OTHER}\\"}"},"sessionId":"${SESSION}"}`,
      { id: 1, method: null, sessionId: SESSION },
    ],
  ];
  test.each(CASES)("%s", (_name, text, route) => {
    const envelope = envelopeOf(text);
    expect({ id: envelope.id, method: envelope.method, sessionId: envelope.sessionId }).toEqual(
      route,
    );
    for (const keeps of [true, false]) {
      const id = route.id === null ? null : 77;
      const object = envelope.objectFor(id, keeps);
      expect(JSON.parse(Buffer.concat(envelope.bytesFor(id, keeps)).toString())).toEqual(object);
      const { id: _id, sessionId: _session, ...rest } = JSON.parse(text);
      expect(object).toEqual({
        ...rest,
        ...(id !== null && { id }),
        ...(keeps && route.sessionId && { sessionId: route.sessionId }),
      });
    }
  });
});

function envelopeOf(text: string): Envelope {
  const reader = new EnvelopeReader();
  reader.push(Buffer.from(text));
  const envelope = reader.end();
  if (!(envelope instanceof Envelope)) throw new Error("the message is too long");
  return envelope;
}

/** A client of the multiplexer that waits for its replies. */
class Client implements MuxClient {
  readonly heard: JsonObject[] = [];
  #id = 0;
  readonly #slot: Slot;
  readonly #waiting = new Map<number, (reply: JsonObject) => void>();
  constructor(slot: Slot) {
    this.#slot = slot;
  }
  deliver(envelope: Envelope, id: number | null, keepsSession: boolean): void {
    this.answer(envelope.objectFor(id, keepsSession));
  }
  answer(message: JsonObject): void {
    this.heard.push(message);
    if (typeof message.id === "number") this.#waiting.get(message.id)?.(message);
  }
  missed(): void {}
  gone(): void {}
  call(method: string, params: object = {}, sessionId?: string): Promise<JsonObject> {
    const id = ++this.#id;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#slot.mux.send(this, { id, method, params, ...(sessionId && { sessionId }) });
    });
  }
}

describe.skipIf(await missingBrowser())("the multiplexer", () => {
  let slot: Slot;
  let another: () => Promise<Slot>;
  let folder: string;
  let playwrights: PlaywrightProcesses;

  beforeAll(async () => {
    const fitness = await judge(process.env.SVC_CHROMIUM || null);
    if ("hint" in fitness) throw new Error(fitness.hint);
    folder = await mkdtemp(join(tmpdir(), "mux-"));
    await chmod(folder, 0o711);
    const hostFitness = {
      fitness: { ...fitness, isolation: "shared-uid" as const },
      cgroups: null,
    };
    const root = rootOf(folder);
    const log = createLog("test", "silent");
    playwrights = await PlaywrightProcesses.open({ root, hostFitness, log });
    const allowance = await Allowance.of([]);
    const plan = { ...hostFitness, folder, playwrights, allowance, log };
    let count = 0;
    another = () => launchSlot(plan, ++count, count - 1, new AbortController().signal);
    slot = await another();
  });
  afterAll(async () => {
    await slot.close();
    await playwrights.close();
    await rm(folder, { recursive: true });
  });

  test("forgets a client that leaves, with its sessions and the calls that were under way", async () => {
    const before = slot.mux.remembered;
    const client = new Client(slot);
    await slot.mux.attach(client);
    await client.call("Target.setAutoAttach", {
      autoAttach: true,
      waitForDebuggerOnStart: false,
      flatten: true,
    });
    for (let opened = 0; opened < 10; opened += 1)
      await client.call("Target.createTarget", { url: "about:blank" });
    const attached = () =>
      client.heard.filter((message) => message.method === "Target.attachedToTarget");
    await expect.poll(() => attached().length).toBeGreaterThanOrEqual(10);
    const [first] = attached().map((message) => message.params as { sessionId: string });
    const session = first?.sessionId ?? "";
    void client.call(
      "Runtime.evaluate",
      { expression: "new Promise(() => {})", awaitPromise: true },
      session,
    );
    slot.mux.detach(client);
    // Playwright, attached too, keeps the pages that were opened.
    expect(slot.mux.remembered.clients).toBe(before.clients);
    await expect.poll(() => slot.mux.remembered.calls).toBe(0);
    const again = new Client(slot);
    await slot.mux.attach(again);
    expect(await again.call("Runtime.evaluate", { expression: "1" }, session)).toMatchObject({
      error: { code: -32001 },
    });
    slot.mux.detach(again);
  });

  test("forgets the sessions of a target that is closed", async () => {
    const client = new Client(slot);
    await slot.mux.attach(client);
    const start = slot.mux.remembered.sessions;
    const created = await client.call("Target.createTarget", { url: "about:blank" });
    const { targetId } = created.result as { targetId: string };
    // Playwright, attached too, has a session with every page.
    await expect.poll(() => slot.mux.remembered.sessions).toBe(start + 1);
    const before = slot.mux.remembered.sessions;
    const attached = await client.call("Target.attachToTarget", { targetId, flatten: true });
    const { sessionId } = attached.result as { sessionId: string };
    expect(slot.mux.remembered.sessions).toBe(before + 1);
    void client.call(
      "Runtime.evaluate",
      { expression: "new Promise(() => {})", awaitPromise: true },
      sessionId,
    );
    await client.call("Target.closeTarget", { targetId });
    await expect
      .poll(() => client.heard.some((message) => message.method === "Target.detachedFromTarget"))
      .toBe(true);
    await expect.poll(() => slot.mux.remembered.sessions).toBeLessThan(before + 1);
    expect(await client.call("Runtime.evaluate", { expression: "1" }, sessionId)).toMatchObject({
      error: { code: -32001 },
    });
    slot.mux.detach(client);
  });

  test("attaches a wire version when it is wanted, once, and loads no other", async () => {
    const loaded = () =>
      below(process.pid)
        .flatMap(({ command }) => /playwright-process.main\.ts \S+ (\S+)/.exec(command)?.[1] ?? [])
        .filter((version, at, all) => all.indexOf(version) === at)
        // They come by pid, and pids begin again.
        .toSorted();
    slot.playwrights.giveTo("org_test", null);
    const { clients } = slot.mux.remembered;
    expect(loaded()).toEqual(["1.65"]);
    const [one, other] = await Promise.all([
      slot.playwrights.attach("1.64"),
      slot.playwrights.attach("1.64"),
    ]);
    expect(one).toEqual(other);
    expect(slot.mux.remembered.clients).toBe(clients + 1);
    expect(loaded()).toEqual(["1.64", "1.65"]);
  });

  test("rejects the host's own calls when the browser goes", async () => {
    const dying = await another();
    const waiting = dying.mux.call("Target.attachToBrowserTarget").catch(() => null);
    await dying.close();
    await dying.died;
    await waiting;
    await expect(dying.mux.call("Browser.getVersion")).rejects.toThrow("gone");
  });
});
