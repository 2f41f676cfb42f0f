import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { Cdp, TimeoutError } from "@svc/sdk/cdp.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { missingStealth } from "../support/process/needs.ts";
import { Observer } from "../support/process/observer.ts";
import { WatchingRig } from "../support/process/watching-rig.ts";

const PATIENCE = { timeout: 90_000, interval: 100 };
vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

describe.skipIf(await missingStealth())("a stealth session that is watched", () => {
  let rig: WatchingRig;
  beforeAll(async () => {
    rig = await WatchingRig.start({ SVC_WARM_FAST: "0", SVC_WARM_STEALTH: "1" });
  });
  afterAll(() => rig?.close());

  test("shows what its window shows; a person who takes it over clicks and types where they see it", async () => {
    const { id, page } = await rig.driven("form", { stealth: true });
    const observer = await rig.watch(id);
    await observer.until(({ last, pages }) => last !== undefined && pages.length === 1);
    expect(observer.texts[0]).toMatchObject({ type: "hello", kind: "stealth", mode: "observe" });
    const { w, h, scale } = observer.last?.head ?? { w: 0, h: 0, scale: 0 };
    const inner = await page.evaluate("[innerWidth, innerHeight]");
    expect([w / scale, h / scale].map(Math.round)).toEqual(inner);

    const person = await Observer.open((await rig.liveToken(id)).url);
    await person.until(({ last }) => last !== undefined);
    const at = (person.last?.head.scale ?? 1) * 120;
    for (const action of ["down", "up"])
      person.send({ type: "mouse", action, x: at, y: at, button: "left", clicks: 1 });
    for (const action of ["down", "up"])
      person.send({ type: "key", action, key: "a", code: "KeyA", text: "a" });
    person.send({ type: "text", text: " ünd mehr" });
    await vi.waitFor(
      async () => expect(await page.inputValue("#field")).toBe("a ünd mehr"),
      PATIENCE,
    );
    expect(await page.evaluate("trusted")).toBe(true);
    person.send({ type: "handoff", action: "done" });
    await person.until(({ closed }) => closed?.code === CLOSE_CODES.normal);
    await rig.release(id);
    await observer.until(({ closed }) => closed?.code === CLOSE_CODES.gone);
  });

  test("shows a person the dialog that opened before they came, and takes their answer", async () => {
    const ask = { stealth: true, lease: { idleSeconds: 600 } };
    const { sessionId: id, cdpEndpoint } = await rig.created(ask);
    const cdp = await Cdp.connect(cdpEndpoint);
    const { targetInfos } = await cdp.send("Target.getTargets");
    const known = targetInfos as { type: string; targetId: string }[];
    const page = await cdp.attach(known.find(({ type }) => type === "page")?.targetId ?? "");
    await page.send("Page.navigate", { url: `${rig.site.url}asks` });
    // Until the page answers nothing any more.
    const asked = () => page.send("Runtime.evaluate", { expression: "1" }, { timeoutMs: 2_000 });
    await expect
      .poll(() => asked().catch((error: unknown) => error), PATIENCE)
      .toBeInstanceOf(TimeoutError);
    cdp.close();
    const person = await Observer.open((await rig.liveToken(id)).url);
    await person.until(({ texts }) =>
      texts.some((told) => told.type === "dialog" && told.message === "Who?"),
    );
    person.send({ type: "dialog", action: "accept", text: "Ada" });
    await person.until(({ pages }) => pages[0]?.title === "Ada");
    await rig.release(id);
  });
});
