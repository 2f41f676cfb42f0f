// Each public operation of the contract has its method in the sdk, and each method asks a route that the contract lists.
import { CreateSession } from "@svc/contract/browser/session.ts";
import { OPERATIONS, type OperationName } from "@svc/contract/operations/index.ts";
import type { Operation } from "@svc/contract/operations/operation.ts";
import {
  type BrowserOptions,
  type Desktop,
  type Sandbox,
  type SandboxOptions,
  Svc,
} from "@svc/sdk/index.ts";
import { expect, test } from "vitest";

/** Operations that no customer calls, or that are asked by a signed URL which the service hands out whole. */
const NOT_CALLED: Partial<Record<OperationName, string>> = {
  getObject: "a URL that replay-url and recordingUrl answer: Replay.download fetches it",
  playReplay: "a page for people: playerUrl of Replay.url",
  consoleToken: "the console's own",
  putObject: "hosts store by it",
  completeObject: "hosts store by it",
  uploadFileByPost: "the same as PUT",
};

interface Asked {
  method: string;
  path: string;
  body: string | null;
}

const asked: Asked[] = [];

/** Answers whatever is asked with all that any method reads. */
const recorded: typeof fetch = async (input, init = {}) => {
  const url = new URL(input instanceof Request ? input.url : input);
  const { method = "GET", body } = init;
  asked.push({ method, path: url.pathname, body: typeof body === "string" ? body : null });
  if (url.pathname === "/profiles" && method === "GET") return Response.json([]);
  if (method === "DELETE" && /^\/(sessions|profiles)/.test(url.pathname))
    return new Response(null, { status: 204 });
  return Response.json({
    sessionId: "s1",
    sandboxId: "s1",
    id: "s1",
    state: "ready",
    status: "ready",
    url: `http://svc.test/${url.pathname.includes("upload") ? "files/upload" : "files/download"}?token=t`,
    token: "t",
    ...Object.fromEntries(
      ["sessions", "sandboxes", "volumes", "snapshots", "templates", "entries"].map((name) => [
        name,
        [],
      ]),
    ),
    nextOffset: 0,
    contentEncoding: "identity",
  });
};

const svc = new Svc({ apiKey: "svc_live_a_b", baseUrl: "http://svc.test", fetch: recorded });
const sandbox = (): Promise<Sandbox> => svc.sandboxes.connect("s1");
const desktop = (): Promise<Desktop> => svc.desktops.connect("s1");
const compiled = svc.templates.from("base").run("true").compile();

const METHODS: Record<string, () => Promise<unknown>> = {
  health: () => svc.health(),
  createSession: () => svc.browsers.create({ stealth: true, proxy: "us" }),
  listSessions: () => svc.browsers.list({ status: "active" }).page(),
  getSession: () => svc.browsers.get("s1"),
  releaseSession: () => svc.browsers.release("s1"),
  renewLease: async () => (await svc.browsers.connect("s1")).renewLease(60),
  replayUrl: () => svc.browsers.replay("s1").url(),
  setAllowedDomains: async () => (await svc.browsers.connect("s1")).setAllowedDomains(["a.test"]),
  observeToken: async () => (await svc.browsers.connect("s1")).observe(),
  liveToken: async () => (await svc.browsers.connect("s1")).handOff(60),
  saveSessionProfile: async () => (await svc.browsers.connect("s1")).saveProfile({ name: "a" }),
  beginHandoff: async () =>
    (await svc.browsers.connect("s1")).handoffs.begin({ instructions: "a" }),
  getHandoff: async () => (await svc.browsers.connect("s1")).handoffs.get("h1", { waitMs: 1 }),
  cancelHandoff: async () => (await svc.browsers.connect("s1")).handoffs.cancel("h1"),
  autologinSites: async () => (await svc.browsers.connect("s1")).autologinSites("a.test"),
  runAutologin: async () => (await svc.browsers.connect("s1")).autologin({ site: "a.test" }),
  listSessionFiles: async () => (await svc.browsers.connect("s1")).files.list(),
  getSessionFile: async () => (await svc.browsers.connect("s1")).files.download("a.pdf"),
  putSessionFile: async () => (await svc.browsers.connect("s1")).files.put("a b.pdf", "text"),
  createSandbox: () => svc.sandboxes.create({ cpu: 1 }),
  listSandboxes: () => svc.sandboxes.list({ metadata: { a: "b" } }).page(),
  getSandbox: () => svc.sandboxes.get("s1"),
  deleteSandbox: () => svc.sandboxes.kill("s1"),
  setSandboxTimeout: async () => (await sandbox()).setTimeout(60_000),
  pauseSandbox: async () => (await sandbox()).pause(),
  resumeSandbox: async () => (await sandbox()).resume(),
  execInSandbox: async () => (await sandbox()).exec("true", ["a"]),
  sandboxMetrics: async () => (await sandbox()).metrics(),
  createVolume: () => svc.volumes.create({ name: "a" }),
  listVolumes: () => svc.volumes.list().page(),
  getVolume: () => svc.volumes.get("v1"),
  deleteVolume: () => svc.volumes.delete("v1"),
  createSnapshot: async () => (await sandbox()).snapshot({ name: "a" }),
  listSnapshots: () => svc.snapshots.list({ sandboxId: "s1" }).page(),
  getSnapshot: () => svc.snapshots.get("s1"),
  deleteSnapshot: () => svc.snapshots.delete("s1"),
  revertSandbox: async () => (await sandbox()).revert("snap_1"),
  createDesktop: () => svc.desktops.create({ resolution: "800x600" }),
  getDesktop: () => svc.desktops.get("s1"),
  deleteDesktop: () => svc.desktops.kill("s1"),
  pauseDesktop: async () => (await desktop()).pause(),
  resumeDesktop: async () => (await desktop()).resume(),
  fileDownloadUrl: async () => (await sandbox()).transfer.downloadUrl("/a"),
  fileUploadUrl: async () => (await sandbox()).transfer.uploadUrl("/a"),
  downloadFile: async () => (await sandbox()).transfer.download("/a"),
  uploadFile: async () => (await sandbox()).transfer.upload("/a", "text"),
  previewPort: async () => (await sandbox()).preview(3000, { public: true }),
  recordingUrl: async () => (await desktop()).recording(),
  createTemplate: () => svc.templates.create({ name: "a", compiled }),
  listTemplates: () => svc.templates.list().page(),
  getTemplate: () => svc.templates.get("t1"),
  templateLogs: () => svc.templates.logPage("t1"),
  cancelTemplate: () => svc.templates.cancel("t1"),
  deleteTemplate: () => svc.templates.delete("t1"),
  listProfiles: () => svc.profiles.list().page(),
  createProfile: () => svc.profiles.create("a"),
  deleteProfile: () => svc.profiles.delete("p1"),
  saveProfile: () => svc.profiles.save("p1", { cookies: [] }),
  listProfileVersions: () => svc.profiles.versions("p1"),
  restoreProfile: () => svc.profiles.restore("p1", 2),
  lockProfile: () => svc.profiles.lock("p1", { idleSeconds: 60 }),
  unlockProfile: () => svc.profiles.unlock("p1", "lease"),
  proxyCountries: () => svc.proxy.countries(),
  readUsage: () => svc.usage({ from: new Date(0) }),
};

const isForCustomers = ([, { auth }]: [string, Operation]): boolean =>
  auth !== "operator" && auth !== "host" && auth !== "console";
const operations: [string, Operation][] = Object.entries(OPERATIONS);
const listed = operations.filter(isForCustomers).filter(([name]) => !(name in NOT_CALLED));

const patternOf = (path: string): RegExp => new RegExp(`^${path.replace(/:\w+/g, "[^/]+")}$`);

test("the sdk has a method for every operation of customers, and for no others", () => {
  expect(Object.keys(METHODS).toSorted()).toEqual(listed.map(([name]) => name).toSorted());
});

test.each(listed)(
  "%s is asked by its method, with a body that the contract accepts",
  async (name, op) => {
    asked.length = 0;
    await METHODS[name]?.();
    const pattern = patternOf(op.path);
    const mine = asked.filter(({ method, path }) => method === op.method && pattern.test(path));
    expect(mine).not.toHaveLength(0);
    const { body = null } = mine.at(-1) ?? {};
    const isJson = op.request && body !== null && !op.isRaw;
    expect(isJson ? op.request?.safeParse(JSON.parse(body)).error : undefined).toBeUndefined();
    for (const { method, path } of asked) {
      const isListed = operations.some(
        ([, one]) => one.method === method && patternOf(one.path).test(path),
      );
      expect({ method, path, isListed }).toMatchObject({ isListed: true });
    }
  },
);

test("a sandbox at an id is asked nothing before its first call, and is left alone at the end of its block", async () => {
  asked.length = 0;
  {
    await using box = svc.sandboxes.at("s1");
    await box.metrics();
  }
  expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "GET /sandboxes/s1/metrics",
  ]);
});

test("types offer what the documents have, and the service goes on taking what they do not offer", () => {
  const proxy = { country: "us", session: "a-1", sessionDuration: 5, state: "ny" } as const;
  const offered: BrowserOptions = { stealth: true, captcha: true, profileId: null, proxy };
  // @ts-expect-error a toggle is a boolean
  const word: BrowserOptions = { stealth: "yes" };
  // @ts-expect-error the tier of old
  const old: BrowserOptions = { stealth: true, proxy: { tier: "isp" } };
  // @ts-expect-error every value of an environment is a text
  const number: SandboxOptions = { envs: { A: 1 } };
  expect(CreateSession.parse(offered)).toMatchObject({ stealth: true, proxy: { mode: "exit" } });
  expect(CreateSession.parse(word)).toMatchObject({ stealth: false });
  expect(CreateSession.parse(old)).toMatchObject({ proxy: { tier: "static" } });
  expect(OPERATIONS.createSandbox.request.safeParse(number).success).toBe(false);
});
