import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { readSessionId } from "@svc/contract/tokens.ts";
import { mintAlias, mintViewerToken } from "@svc/contract/tokens/viewer.ts";
import { chromium } from "playwright-core";
import { afterAll, describe, expect, test, vi } from "vitest";
import { missingBrowser } from "../support/process/needs.ts";
import { Observer } from "../support/process/observer.ts";
import { WatchingRig, claimsOf, refusalOf } from "../support/process/watching-rig.ts";
import { SIGNING_SECRET } from "../support/secrets.ts";
import { exampleCases } from "./observer-example.ts";
import { takeOverCases } from "./take-over-cases.ts";

const PATIENCE = { timeout: 90_000, interval: 200 };
vi.setConfig({ testTimeout: 240_000 });

const rig = await WatchingRig.start();
afterAll(() => rig.close());

const observeUrl = (name: string): string => rig.socketUrl(`/ws/observe/${name}`);

describe.skipIf(await missingBrowser())("a session that is watched", () => {
  test("shows a page that stands still at once, with its tabs, by a token whose URL names no session", async () => {
    const { id } = await rig.driven();
    const { url, token, expiresInSeconds } = await rig.observeToken(id);
    expect(expiresInSeconds).toBe(LIMITS.observeTokenMs / 1000);
    expect(url + claimsOf(token)).not.toContain(id);
    const observer = await Observer.open(url);
    await observer.until(({ last, pages }) => last !== undefined && pages.length > 0);
    expect(observer.texts.slice(0, 2)).toEqual([
      { type: "hello", v: 1, kind: "fast", mode: "observe", fps: 10 },
      { type: "state", status: "active" },
    ]);
    const [page] = observer.pages;
    expect(page).toMatchObject({ url: `${rig.site.url}still`, title: "Still", active: true });
    expect(observer.last?.head).toMatchObject({
      page: page?.id,
      w: 1280,
      h: 720,
      scale: 1,
      sx: 0,
      sy: 0,
    });
    expect([...(observer.last?.jpeg.subarray(0, 2) ?? [])]).toEqual([0xff, 0xd8]);
    expect(JSON.stringify(observer.texts)).not.toContain(id);
    // A second viewer has its first frame without anything moving.
    const second = await rig.watch(id);
    await second.until(({ last }) => last !== undefined);
    second.send({ type: "options", maxWidth: 640 });
    observer.close();
    await second.until(({ last }) => last?.head.w === 640 && last.head.scale === 0.5);
    await rig.release(id);
    await second.until(({ closed }) => closed?.code === CLOSE_CODES.gone);
  });

  test("shows what moves, in order; one who never acknowledges gets two frames, and takes nothing from the others", async () => {
    const { id, page } = await rig.driven("moving");
    const stuck = await rig.watch(id, { acks: false });
    await stuck.until(({ frames }) => frames.length === LIMITS.framesUnacked);
    const observer = await rig.watch(id, { query: "?fps=20" });
    await observer.until(({ frames }) => frames.length >= 30);
    const seqs = observer.frames.map(({ head }) => head.seq);
    expect(seqs).toEqual(seqs.toSorted((left, right) => left - right));
    expect(stuck.frames).toHaveLength(LIMITS.framesUnacked);
    expect(await page.evaluate("1 + 1")).toBe(2);
    stuck.send({ type: "ack", seq: stuck.last?.head.seq });
    await stuck.until(({ frames }) => frames.length > LIMITS.framesUnacked);
    // It goes on with the newest one.
    expect(stuck.last?.head.seq).toBeGreaterThanOrEqual(seqs[28] ?? 0);
    await rig.release(id);
  });

  test("follows the tab that came or went somewhere last, unless a viewer has chosen one", async () => {
    const { id, page, browser } = await rig.driven();
    const observer = await rig.watch(id);
    await observer.until(({ last }) => last !== undefined);
    const first = observer.last?.head.page ?? "";
    const other = await browser.contexts()[0]?.newPage();
    await other?.goto(`${rig.site.url}other`);
    await observer.until(({ pages, last }) => {
      const active = pages.find((tab) => tab.active);
      return pages.length === 2 && active?.title === "Other" && last?.head.page === active.id;
    });
    const chooser = await rig.watch(id);
    chooser.send({ type: "options", page: first });
    await chooser.until(({ last }) => last?.head.page === first);
    await other?.close();
    await observer.until(({ pages, last }) => pages.length === 1 && last?.head.page === first);
    expect(page.isClosed()).toBe(false);
    await rig.release(id);
  });

  test("takes no input: the third forbidden message closes the socket, and the page has seen none", async () => {
    const { id, page } = await rig.driven();
    await page.evaluate(
      "window.seen = []; for (const n of ['keydown', 'mousedown', 'wheel']) addEventListener(n, (e) => seen.push(e.type))",
    );
    const observer = await rig.watch(id);
    observer.send({ type: "mouse", action: "down", x: 10, y: 10, button: "left" });
    observer.send(Buffer.from([1, 2, 3]));
    await observer.until(({ texts }) => texts.filter(({ type }) => type === "error").length === 2);
    expect(observer.closed).toBeNull();
    expect(observer.texts.at(-1)).toMatchObject({ type: "error", code: "ReadOnly" });
    observer.send("x".repeat(LIMITS.observerMessageBytes + 1));
    await observer.until(({ closed }) => closed?.code === CLOSE_CODES.observerWrote);
    expect(await page.evaluate("seen")).toEqual([]);
    await rig.release(id);
  });

  test("nothing that a viewer gets opens the session, and no other token opens the stream", async () => {
    const { id } = await rig.driven();
    const other = await rig.driven();
    const { url, token } = await rig.observeToken(id);
    const theirs = await rig.observeToken(other.id);
    const alias = new URL(url).pathname.split("/").at(-1) ?? "";
    const { sub } = JSON.parse(claimsOf(token));
    const observer = await Observer.open(url);
    await observer.until(({ pages }) => pages.length > 0);
    const told = observer.texts.flatMap((text) => JSON.stringify(text).match(/[\w.-]{8,}/g) ?? []);
    for (const name of new Set([
      alias,
      token,
      sub,
      alias.slice(4),
      observer.last?.head.page ?? "",
      ...told,
    ]))
      for (const endpoint of ["ws", "cdp"])
        expect(await refusalOf(rig.socketUrl(`/${endpoint}/${name}`))).toMatch(/^40[14] /);
    const stranger = await rig.gateway.newKey();
    for (const [where, bearer] of [
      [observeUrl(id)],
      [observeUrl(id), stranger],
      [observeUrl(id), token],
      [`${observeUrl(id)}?token=${theirs.token}`],
      [`${observeUrl(alias)}?token=${theirs.token}`],
      [`${observeUrl(alias)}?token=${alias}`],
      [`${observeUrl(id)}?token=${token.slice(0, -1)}`],
      [observeUrl("obs_x.y")],
      [observeUrl("nonsense"), rig.key],
    ] as const)
      expect(await refusalOf(where, bearer)).toMatch(/^401 /);
    for (const where of [observeUrl(""), observeUrl("a/b")])
      expect(await refusalOf(where, rig.key)).toMatch(/^404 /);
    // By its id for those who have it, too.
    const byId = await Observer.open(`${observeUrl(id)}?token=${token}`);
    await byId.until(({ last }) => last !== undefined);
    await Promise.all([rig.release(id), rig.release(other.id)]);
  });

  test("a token that expires closes its socket, and opens none any more", async () => {
    const { id } = await rig.driven();
    const { org = "" } = (await readSessionId(SIGNING_SECRET, id)) ?? {};
    const iat = Math.floor(Date.now() / 1000);
    const sub = await mintAlias(SIGNING_SECRET, { id, org, expiresAt: Date.now() + 600_000 });
    const short = await mintViewerToken(SIGNING_SECRET, {
      aud: "observe",
      mode: "observe",
      sub,
      org,
      iat,
      exp: iat + 25,
    });
    const observer = await Observer.open(`${observeUrl(sub)}?token=${short}`);
    await observer.until(({ closed }) => closed?.code === CLOSE_CODES.tokenExpired);
    expect(await refusalOf(`${observeUrl(sub)}?token=${short}`)).toMatch(/^401 /);
    await rig.release(id);
    expect(await refusalOf(observeUrl(id), rig.key)).toMatch(/^404 The session has ended/);
    expect((await rig.call(`/sessions/${id}/observe-token`, "POST")).status).toBe(409);
  });

  test("the 65th observer is refused until another leaves", async () => {
    const { id } = await rig.driven();
    const url = observeUrl(id);
    const all = await Promise.all(
      Array.from({ length: LIMITS.sessionObservers }, () => Observer.open(url, { key: rig.key })),
    );
    await Promise.all(all.map((each) => each.until(({ last }) => last !== undefined)));
    expect(await refusalOf(url, rig.key)).toMatch(/^429 /);
    all[0]?.close();
    await vi.waitFor(async () => expect(await refusalOf(url, rig.key)).toBe("open"), PATIENCE);
    await rig.release(id);
    await Promise.all(
      all.slice(1).map((each) => each.until(({ closed }) => closed?.code === CLOSE_CODES.gone)),
    );
  });

  test("observers keep no session alive, and answer no dialog", async () => {
    const { id, page, browser, cdpEndpoint } = await rig.driven();
    const observer = await rig.watch(id);
    await observer.until(({ last }) => last !== undefined);
    expect(await page.evaluate("confirm('Sure?')")).toBe(false);
    const raw = await chromium.connectOverCDP(cdpEndpoint);
    const cdp = await raw.newBrowserCDPSession();
    const { targetInfos } = await cdp.send("Target.getTargets");
    expect(targetInfos.filter(({ type }) => type === "page")).toHaveLength(1);
    await raw.close();
    await browser.close();
    await observer.until(({ closed }) => closed?.code === CLOSE_CODES.gone);
    expect(await rig.read(id)).toMatchObject({
      status: "released",
      closeReason: "client_disconnected",
    });
  });
});

describe.skipIf(await missingBrowser())("a session that is taken over", () => {
  takeOverCases(rig);
  exampleCases(rig);
});

describe.skipIf(await missingBrowser())("faults under those who watch", () => {
  test("a gateway that restarts: observers reconnect and see the session again", async () => {
    const { id } = await rig.driven("moving");
    const { url } = await rig.observeToken(id);
    const observer = await Observer.open(url);
    await observer.until(({ last }) => last !== undefined);
    await rig.gateway.close();
    await observer.until(({ closed }) => closed !== null);
    await rig.restartGateway();
    const again = await Observer.open(url);
    await again.until(({ frames }) => frames.length >= 3);
    expect(again.pages).toMatchObject([{ title: "Moving" }]);
    await rig.release(id);
  });

  test("a pool that is killed: its observers hear that it is away, and that the session is gone", async () => {
    const { id } = await rig.driven();
    const observer = await rig.watch(id);
    await observer.until(({ last }) => last !== undefined);
    await rig.pool.kill("SIGKILL");
    await observer.until(({ texts }) =>
      texts.some((text) => text.type === "state" && text.status === "away"),
    );
    await rig.pool.restart();
    // On a slow computer the pool is back later than its observers wait for it: they reconnect then.
    const { gone, restart } = CLOSE_CODES;
    await observer.until(({ closed }) => closed?.code === gone || closed?.code === restart);
    expect(await refusalOf(observeUrl(id), rig.key)).toMatch(/^404 /);
    expect(await rig.read(id)).toMatchObject({ status: "released", closeReason: "pool_lost" });
  });
});
