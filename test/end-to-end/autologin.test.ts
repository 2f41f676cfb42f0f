import { AutologinResult, AutologinSites } from "@svc/contract/browser/autologin.ts";
import { ConsoleToken } from "@svc/contract/browser/login.ts";
import { Profile } from "@svc/contract/browser/profile.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { type Frame, type Page, chromium } from "playwright-core";
import { afterAll, describe, expect, test, vi } from "vitest";
import { mcpClient } from "../support/mcp-client.ts";
import { ACCOUNT, type LoginSite, startLoginSite } from "../support/process/login-site.ts";
import { missingBrowser, missingStealth } from "../support/process/needs.ts";
import { WatchingRig } from "../support/process/watching-rig.ts";

const PATIENCE = { timeout: 90_000, interval: 100 };
vi.setConfig({ testTimeout: 240_000 });
/** The name under which the site's logins are saved: that of the host whose cookies it sets. */
const SITE = "127.0.0.1";

const noStealth = await missingStealth();
const site: LoginSite = await startLoginSite();
const rig = await WatchingRig.start(
  { SVC_EGRESS_ALLOW: `${site.address},${site.otherAddress}` },
  site,
);
afterAll(() => rig.close());

/** A profile with a saved login, and a session that begins with it. */
async function prepared(path: string, wish: object = {}, ask: object = {}) {
  const made = await rig.call("/profiles", "POST", { body: { name: `ada ${Math.random()}` } });
  const { id: profileId } = Profile.parse(await made.json());
  const minted = await rig.call("/console/api/token", "POST");
  const { token: bearer } = ConsoleToken.parse(await minted.json());
  const { username, password } = ACCOUNT;
  const login = {
    loginUrl: site.url + path,
    username,
    password,
    checkUrl: `${site.url}home`,
    ...wish,
  };
  const put = `/console/api/logins/${profileId}/${SITE}`;
  expect((await rig.call(put, "PUT", { bearer, body: login })).status).toBe(200);
  // Nobody is attached and nothing holds it: a login must not end its session.
  const { sessionId: id, cdpEndpoint } = await rig.created({ profileId, ...ask });
  return { id, profileId, cdpEndpoint };
}

const run = (id: string, body: object = {}): Promise<Response> =>
  rig.call(`/sessions/${id}/autologin`, "POST", { body: { site: SITE, ...body } });

async function result(id: string, body: object = {}): Promise<AutologinResult> {
  const answer = await run(id, body);
  const json: unknown = await answer.json();
  return AutologinResult.parse(json, { error: () => JSON.stringify(json) });
}

async function status(id: string): Promise<AutologinSites["sites"][number] | undefined> {
  const answer = await rig.call(`/sessions/${id}/autologin?site=${SITE}`);
  return AutologinSites.parse(await answer.json()).sites[0];
}

async function attached(cdpEndpoint: string): Promise<Page> {
  const browser = await chromium.connectOverCDP(cdpEndpoint);
  const [page] = browser.contexts()[0]?.pages() ?? [];
  if (!page) throw new Error("a session has a page");
  return page;
}

/** The text in all fields of the page. */
const typedIn = (page: Page | Frame): Promise<string> =>
  page.evaluate("[...document.querySelectorAll('input')].map((i) => i.value).join('')");

describe.skipIf(await missingBrowser())("a login that the service makes by itself", () => {
  test.each([
    ["on one page", "one", {}],
    ["on two pages", "two", {}],
    ["with a one-time code", "second", { totp: ACCOUNT.totp }],
    ["of a form whose fields are named", "one", { steps: { username: "#user", submit: "#go" } }],
    ["of a page that listens to events of the browser alone, and to keys", "listens", {}],
    ["without a check, by the password's going", "one", { checkUrl: undefined }],
  ])("%s signs in, saves the profile, and is not made again", async (_how, path, wish) => {
    const { id, profileId, cdpEndpoint } = await prepared(path, wish);
    expect(await status(id)).toMatchObject({ username: "a***@example.com", status: "logged_out" });
    expect(await result(id)).toMatchObject({
      status: "logged_in",
      url: `${site.url}home`,
      title: "Home",
      version: 1,
    });
    expect(await status(id)).toMatchObject({ status: "logged_in" });
    const page = await attached(cdpEndpoint);
    expect(await page.textContent("#who")).toBe("Signed in as Ada");
    await rig.release(id);
    const next = await rig.created({ profileId });
    const there = await attached(next.cdpEndpoint);
    await there.goto(`${site.url}home`);
    expect(await there.textContent("#who")).toBe("Signed in as Ada");
    await rig.release(next.sessionId);
  });

  test.skipIf(noStealth)("signs in in a stealth browser too", async () => {
    const { id } = await prepared("listens", {}, { stealth: true });
    expect(await result(id)).toMatchObject({ status: "logged_in", version: 1 });
    await rig.release(id);
  });

  test("is not made where the check says that one is signed in, unless it is forced", async () => {
    const { id } = await prepared("home");
    // The home page has no form, and is where one is signed in.
    expect(await result(id)).toMatchObject({ status: "already_logged_in" });
    // The run was nobody's presence: a session that nobody has come to yet goes on waiting.
    const endedAt = Date.now();
    while (Date.now() < endedAt + 2 * LIMITS.lingerMs)
      expect((await rig.read(id)).status).toBe("active");
    const other = await prepared("one", { checkSelector: "#user", checkUrl: undefined });
    expect(await result(other.id)).toMatchObject({ status: "already_logged_in" });
    const before = site.attempts;
    await result(other.id, { force: true });
    expect(site.attempts).toBe(before + 1);
    for (const session of [id, other.id]) await rig.release(session);
  });

  test.each([
    ["a wrong password", "one", { password: "wrong" }, { status: "failed", reason: "credentials" }],
    ["a captcha", "captcha", {}, { status: "needs_human", reason: "captcha" }],
    ["a code without its secret", "second", {}, { status: "needs_human", reason: "second_factor" }],
    ["another second factor", "sms", {}, { status: "needs_human", reason: "second_factor" }],
    ["no form", "nothing", {}, { status: "needs_human", reason: "no_form" }],
  ])(
    "%s ends it with the reason, and nothing stays in the page",
    async (_why, path, wish, expected) => {
      const { id, cdpEndpoint } = await prepared(path, wish);
      expect(await result(id)).toMatchObject(expected);
      expect(await status(id)).toMatchObject({ status: "logged_out" });
      const page = await attached(cdpEndpoint);
      expect(await typedIn(page)).toBe("");
      await rig.release(id);
    },
  );

  test.each([
    ["a page that redirects to another host", "elsewhere", "localhost"],
    ["a form in a frame of another host", "framed", "a frame of localhost"],
  ])("%s is given nothing: OriginMismatch", async (_where, path, named) => {
    const { id, cdpEndpoint } = await prepared(path);
    const before = site.attempts;
    const answer = await run(id);
    expect(answer.status).toBe(409);
    const body = (await answer.json()) as { code: string; error: string };
    expect(body.code).toBe("OriginMismatch");
    expect(body.error).toContain(named);
    const page = await attached(cdpEndpoint);
    expect(await typedIn(page)).toBe("");
    expect(site.attempts).toBe(before);
    await rig.release(id);
  });

  test("the tool says of a page that redirects to another host what to do", async () => {
    const { id } = await prepared("elsewhere");
    await using client = await mcpClient({ url: rig.gateway.url, key: rig.key });
    const args = { sessionId: id, site: SITE };
    const { text, error } = await client.call("svc_browser_autologin_site", args);
    expect(text).toMatch(/^OriginMismatch: .* at localhost, .* Have a person log in/);
    expect(error).toMatchObject({ code: "OriginMismatch", status: 409 });
    await rig.release(id);
  });

  const changed = { status: "failed", reason: "page_changed" };
  test.each([
    ["moves the focus to a plain field", "to-field", { status: "logged_in" }],
    ["moves the focus to a frame of another host", "to-frame", { status: "logged_in" }],
    ["goes to another host", "to-host", { status: "failed", reason: "credentials" }],
    ["shows the password", "reveals", { status: "failed", reason: "credentials" }],
    ["is a plain field once it has the focus", "swaps", changed],
    ["gives the focus away", "bounces", changed],
  ])(
    "a page that %s as it gets the password leads nothing of it elsewhere",
    async (_how, path, expected) => {
      const { id, cdpEndpoint } = await prepared(path);
      expect(await result(id)).toMatchObject(expected);
      expect(site.leaked).toBe("");
      const page = await attached(cdpEndpoint);
      for (const frame of page.frames()) expect(await typedIn(frame)).toBe("");
      await rig.release(id);
    },
  );

  test("another host is typed at once it is among the login's own", async () => {
    const { id } = await prepared("elsewhere", {
      allowedHosts: [SITE, "localhost"],
      checkUrl: `${site.otherUrl}home`,
    });
    expect(await result(id)).toMatchObject({ status: "logged_in", url: `${site.otherUrl}home` });
    await rig.release(id);
  });

  test("a page that hangs holds it no longer than its time, and others are refused meanwhile", async () => {
    const { id } = await prepared("slow");
    const running = result(id, { timeoutSeconds: 20 });
    await vi.waitFor(
      async () =>
        expect((await rig.read(id)).handoff).toMatchObject({ kind: "autologin", status: "active" }),
      PATIENCE,
    );
    for (const [path, body] of [
      ["handoffs", {}],
      ["live-token", {}],
      ["autologin", { site: SITE }],
    ] as const)
      expect((await rig.call(`/sessions/${id}/${path}`, "POST", { body })).status).toBe(409);
    expect(await running).toMatchObject({ status: "failed", reason: "timeout" });
    expect((await rig.read(id)).handoff).toMatchObject({ status: "cancelled" });
    await rig.release(id);
  });

  test("observers see nothing of it", async () => {
    const { id } = await prepared("sms");
    const observer = await rig.watch(id);
    await observer.until(({ frames }) => frames.length > 0);
    // The run goes on for as long as this looks at it.
    const seen = Promise.withResolvers<void>();
    site.last = seen.promise;
    const running = result(id);
    await observer.until(({ texts }) =>
      texts.some((told) => told.type === "state" && told.handoff === "active"),
    );
    const before = observer.frames.length;
    await vi.waitFor(async () => expect((await status(id))?.status).toBeDefined(), PATIENCE);
    expect((await rig.read(id)).handoff?.status).toBe("active");
    expect(observer.frames.length).toBe(before);
    seen.resolve();
    await running;
    await observer.until(({ frames }) => frames.length > before);
    await rig.release(id);
  });
});
