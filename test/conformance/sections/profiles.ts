import { Profile, ProfileList, ProfileSaved } from "@svc/contract/browser/profile.ts";
import { chromium, type Browser } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { OrgCaller, Service } from "../caller.ts";
import { sendRaw } from "../sockets.ts";

const ORIGIN = "https://profile.example";
const STATE = {
  cookies: [
    {
      name: "c",
      value: "cookie",
      domain: "profile.example",
      path: "/",
      expires: -1,
      httpOnly: false,
      secure: true,
      sameSite: "Lax",
    },
  ],
  origins: [{ origin: ORIGIN, localStorage: [{ name: "l", value: "local" }] }],
};

/** Document 1: profiles, and a session that starts with one. */
export function profiles(service: Service): void {
  create(service);
  listAndDelete(service);
  save(service);
  start(service);
}

function create(service: Service): void {
  describe("POST /profiles", () => {
    test("makes an empty profile whose id a session can use at once", async () => {
      const org = await service.newOrg();
      const answer = await org.post("/profiles", { name: "  work " });
      expect(answer.status).toBe(201);
      const { id, name } = Profile.parse(answer.json);
      expect(name).toBe("work");
      await using session = await org.open({ profileId: id });
      const { storageStateUrl } = session.created;
      expect(storageStateUrl).toEqual({ url: null, expiresInSeconds: expect.any(Number) });
    });

    test.each([
      ["no JSON", "{"],
      ["a list", "[]"],
      ["nothing", "{}"],
      ["a blank name", { name: "  " }],
      ["a name that is no string", { name: 5 }],
      ["a name of null", { name: null }],
    ])("of %s is 400", async (_what, body) => {
      const org = await service.newOrg();
      expect((await org.post("/profiles", body)).status).toBe(400);
    });

    test("of a name that is taken is 400, not 409; another org may have it", async () => {
      const org = await service.newOrg();
      await org.newProfile("same");
      expect((await org.post("/profiles", { name: "same" })).status).toBe(400);
      const other = await service.newOrg();
      expect((await other.post("/profiles", { name: "same" })).status).toBe(201);
    });

    test("beyond the plan's cap is 403 PlanLimitExceeded, until one is deleted", async () => {
      const org = await service.newOrg("free", { profiles: 2 });
      const { id } = await org.newProfile("one");
      await org.newProfile("two");
      const answer = await org.post("/profiles", { name: "three" });
      expect(answer.status).toBe(403);
      expect(answer.json).toMatchObject({ code: "PlanLimitExceeded", plan: "free", cap: 2 });
      await org.delete(`/profiles/${id}`);
      expect((await org.post("/profiles", { name: "three" })).status).toBe(201);
    });
  });
}

function listAndDelete(service: Service): void {
  test("GET /profiles is a bare array of the org's own profiles, each with id and name", async () => {
    const [org, other] = [await service.newOrg(), await service.newOrg()];
    await other.newProfile("theirs");
    expect((await org.get("/profiles")).json).toEqual([]);
    await org.newProfile("one");
    await org.newProfile("two");
    const list = ProfileList.parse((await org.get("/profiles")).json);
    expect(list.map(({ name }) => name).toSorted()).toEqual(["one", "two"]);
  });

  test("DELETE /profiles/:id is 204 once, then 404, also for a session and a save", async () => {
    const org = await service.newOrg();
    const { id } = await org.newProfile();
    const answer = await org.delete(`/profiles/${id}`);
    expect([answer.status, answer.text]).toEqual([204, ""]);
    expect((await org.delete(`/profiles/${id}`)).status).toBe(404);
    expect((await org.post(`/profiles/${id}/save`, { storageState: {} })).status).toBe(404);
    expect((await org.post("/sessions", { profileId: id })).status).toBe(404);
    expect((await org.get("/profiles")).json).toEqual([]);
  });

  test("another org's profile is 404 on every route, as one that never was", async () => {
    const [org, other] = [await service.newOrg(), await service.newOrg()];
    const { id } = await org.newProfile();
    for (const profileId of [id, "prof_nothing"]) {
      const answers = [
        await other.delete(`/profiles/${profileId}`),
        await other.post(`/profiles/${profileId}/save`, { storageState: {} }),
        await other.post("/sessions", { profileId }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    }
  });
}

async function saved(org: OrgCaller, id: string, storageState: unknown = STATE) {
  const answer = await org.post(`/profiles/${id}/save`, { storageState });
  expect(answer.status).toBe(200);
  return ProfileSaved.parse(answer.json);
}

function save(service: Service): void {
  describe("POST /profiles/:id/save", () => {
    test("answers id, size, place, and a version that grows by one with each save", async () => {
      const org = await service.newOrg();
      const { id } = await org.newProfile();
      for (const version of [1, 2, 3]) {
        const answer = await saved(org, id);
        expect(answer).toMatchObject({ profileId: id, version });
        expect(answer.sizeBytes).toBe(JSON.stringify(STATE).length);
        expect(answer.storageStateS3Key).not.toBe("");
      }
    });

    test("of anything but an object is 400 and leaves the version as it is", async () => {
      const org = await service.newOrg();
      const { id } = await org.newProfile();
      await saved(org, id);
      const states = ["text", [], null, 5];
      const bodies = ["{", "[]", {}, ...states.map((storageState) => ({ storageState }))];
      for (const body of bodies) {
        expect((await org.post(`/profiles/${id}/save`, body)).status).toBe(400);
      }
      expect((await saved(org, id)).version).toBe(2);
    });

    test("above 1 MB is 413 with the limit; below it is stored", async () => {
      const org = await service.newOrg();
      const { id } = await org.newProfile();
      // Only announced: an answer may cut off who still sends.
      const head = [`Authorization: Bearer ${org.key}`, "Content-Length: 1048577"];
      const answer = await sendRaw(service.base, `POST /profiles/${id}/save`, head);
      expect(answer.status).toBe(413);
      expect(JSON.parse(answer.body)).toMatchObject({ limit: 1_048_576 });
      expect((await saved(org, id, { x: "x".repeat(1_000_000) })).version).toBe(1);
    });

    test("of many at once: each version is given once, and who loses is 409", async () => {
      const org = await service.newOrg();
      const { id } = await org.newProfile();
      const body = { storageState: STATE };
      const all = Array.from({ length: 6 }, () => org.post(`/profiles/${id}/save`, body));
      const answers = await Promise.all(all);
      const won = answers.filter(({ status }) => status === 200);
      const lost = answers.filter(({ status }) => status === 409);
      expect(won.length + lost.length).toBe(6);
      const versions = won.map(({ json }) => ProfileSaved.parse(json).version);
      expect(versions.toSorted((left, right) => left - right)).toEqual(won.map((_, at) => at + 1));
    });
  });
}

const ENDPOINTS: [
  path: string,
  connect: (endpoints: { wsEndpoint: string; cdpEndpoint: string }) => Promise<Browser>,
][] = [
  ["/ws", ({ wsEndpoint }) => chromium.connect(wsEndpoint)],
  ["/cdp", ({ cdpEndpoint }) => chromium.connectOverCDP(cdpEndpoint)],
];

async function readIn(browser: Browser): Promise<unknown> {
  const context = browser.contexts()[0];
  const page = context?.pages()[0];
  if (!context || !page) throw new Error("a new session has a page");
  const cookies = await context.cookies(ORIGIN);
  // Answered here: the site need not exist.
  await page.route("**", (route) => route.fulfill({ contentType: "text/html", body: "<p>" }));
  await page.goto(ORIGIN);
  const seen = await page.evaluate("[document.cookie, localStorage.getItem('l')]");
  return { cookies: cookies.map(({ name, value }) => [name, value]), seen };
}

function start(service: Service): void {
  describe("a session with a profile", () => {
    test("offers its state by a short-lived URL that needs no key, and nothing of it inline", async () => {
      const org = await service.newOrg();
      const { id } = await org.newProfile();
      await saved(org, id);
      const answer = await org.post("/sessions", { profileId: id });
      await using session = org.opened(answer);
      expect(answer.text).not.toContain("profile.example");
      const { url, expiresInSeconds } = session.created.storageStateUrl ?? {};
      expect(expiresInSeconds).toBeLessThanOrEqual(3600);
      const state = await service.stranger.get(url ?? "/none");
      expect([state.status, state.json]).toEqual([200, STATE]);
      const broken = await service.stranger.get(`${url}x`);
      expect(broken.status).toBe(404);
    });

    test.each(ENDPOINTS)(
      "has its cookies and localStorage at the first navigation on %s",
      async (_path, connect) => {
        const org = await service.newOrg();
        const { id } = await org.newProfile();
        await saved(org, id);
        await using session = await org.open({ profileId: id });
        const browser = await connect(session.created);
        expect(await readIn(browser)).toEqual({
          cookies: [["c", "cookie"]],
          seen: ["c=cookie", "local"],
        });
        await browser.close();
      },
    );

    test("of 60 origins is created, and both endpoints see the storage of each", async () => {
      const org = await service.newOrg();
      const { id } = await org.newProfile();
      const names = Array.from({ length: 60 }, (_, at) => `https://www.site-${at}.example`);
      const localStorage = (origin: string) => [{ name: "l", value: origin }];
      const origins = names.map((origin) => ({ origin, localStorage: localStorage(origin) }));
      await saved(org, id, { cookies: [], origins });
      await using session = await org.open({ profileId: id });
      const wire = await chromium.connect(session.created.wsEndpoint);
      const state = await wire.contexts()[0]?.storageState();
      expect(new Set(state?.origins)).toEqual(new Set(origins));
      await wire.close();
      const cdp = await chromium.connectOverCDP(session.created.cdpEndpoint);
      const page = cdp.contexts()[0]?.pages()[0];
      await page?.route("**", (route) => route.fulfill({ contentType: "text/html", body: "<p>" }));
      for (const origin of [names[0] ?? "", names[59] ?? ""]) {
        await page?.goto(origin);
        expect(await page?.evaluate("localStorage.getItem('l')")).toBe(origin);
      }
      await cdp.close();
    });
  });
}
