import { once } from "node:events";
import { chmodSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Profile } from "@svc/contract/browser/profile.ts";
import { SessionCreated } from "@svc/contract/browser/session.ts";
import { ObjectUrls } from "@svc/contract/host-protocol/objects.ts";
import { SignedFileUrl } from "@svc/contract/vm/files.ts";
import { Preview } from "@svc/contract/vm/preview.ts";
import { SandboxCreated } from "@svc/contract/vm/sandbox.ts";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { sendRaw } from "../support/process/raw-http.ts";
import { missingMachine } from "../vm-host/rig/needs.ts";
import { type Role, START_MS, Service, stateDir } from "./service.ts";

const hindrance = await missingMachine();
/** Every token of ours: a payload and its MAC, both base64url. */
const TOKEN = /[\w-]{20,}\.[\w-]{43}(?![\w-])/;
const SECRETS = ["admin.token", "host.token", "signing.secret", "dev.key"];
const VOLUME = `vol_${"0123456789abcdef".repeat(2)}`;

/** A customer and a host of one service, by what they ask of it. */
class Caller {
  readonly service: Service;
  readonly tokens = new Set<string>();
  readonly answers: string[] = [];

  constructor(service: Service) {
    this.service = service;
  }

  /** The body of an answer; whatever fails is what a failure is tried for. */
  async call(path: string, method = "GET", body?: unknown, file = "dev.key"): Promise<unknown> {
    const headers = { authorization: `Bearer ${this.service.read(file)}` };
    const sent = body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body);
    const response = await fetch(new URL(path, this.service.url), { method, headers, body: sent });
    const text = await response.text();
    this.answers.push(`${method} ${path.slice(0, 30)} ${response.status}`);
    for (const [token] of text.matchAll(new RegExp(TOKEN, "g"))) this.tokens.add(token);
    return text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text;
  }

  /** Asks a URL as it was given out, and as no URL should be: changed, cut off, under a Host that is none. */
  async spoil(url: string): Promise<void> {
    const { pathname, search } = new URL(url);
    const target = pathname + search;
    const base = new URL(this.service.url);
    for (const path of [`${target}x`, target.slice(0, -1), `${target}%E0%A4%A`, `${target}%00`])
      for (const method of ["GET", "PUT", "POST", "DELETE"])
        await sendRaw(base, [`${method} ${path} HTTP/1.1`, "Content-Length: 0"]);
    const upgrade = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: x"];
    for (const host of ["localhost:notaport", "evil.test", "["])
      await sendRaw(base, [`GET ${target} HTTP/1.1`, `Host: ${host}`, ...upgrade]).catch(
        () => null,
      );
  }

  /** A socket, once it is open or refused. */
  async socket(url: string, says?: string): Promise<WebSocket> {
    const socket = new WebSocket(url);
    const opened = await new Promise<boolean>((resolve) => {
      socket.once("open", () => resolve(true));
      socket.once("close", () => resolve(false));
      // A refusal is an error first.
      socket.on("error", () => undefined);
    });
    if (opened && says !== undefined) socket.send(says);
    return socket;
  }
}

/** Kills a process of the service, and waits until another has taken its place and the service answers. */
async function killed(service: Service, role: Role): Promise<void> {
  const { pid } = service.process(role);
  process.kill(pid, "SIGKILL");
  await expect.poll(() => service.find(role)?.pid ?? pid, { timeout: START_MS }).not.toBe(pid);
  await expect.poll(() => service.health(), { timeout: START_MS }).toBe(200);
}

describe.skipIf(hindrance !== undefined)("what the processes of npm start print", () => {
  test(
    "has no URL that is a capability, no key and no secret, whatever succeeds or fails",
    { timeout: 4 * START_MS },
    async () => {
      const folder = stateDir();
      chmodSync(folder, 0o711);
      const env = { SVC_WARM_VM: "1", TMPDIR: folder, SVC_LOG_LEVEL: "debug" };
      await using service = await Service.ready(env, folder);
      const caller = new Caller(service);
      const session = await browser(caller);
      const sandbox = await machine(caller);
      const stored = await objects(caller);
      const urls = [...session, ...sandbox, ...stored];
      for (const url of urls) await caller.spoil(url);
      await withoutStore(caller, urls);
      await whileItDies(caller, session, "pool");
      await whileItDies(caller, sandbox, "vmHost");
      await whileItDies(caller, urls, "workerd");

      const bannerEnd = service.lines.findIndex((line) => line.startsWith("ready "));
      const said = [
        ...service.lines.slice(0, bannerEnd).filter((line) => !line.startsWith("  key ")),
        ...service.lines.slice(bannerEnd),
      ];
      const wanted = [...caller.tokens, ...SECRETS.map((name) => service.read(name))];
      expect(caller.tokens.size).toBeGreaterThan(8);
      const leaks = said.filter(
        (line) => TOKEN.test(line) || wanted.some((secret) => line.includes(secret)),
      );
      expect(leaks).toEqual([]);
      // What was made to fail did fail, and is said.
      expect(said.join("\n")).toContain('"store_failed"');
    },
  );
});

/** A session with a profile: its sockets and the URL of its stored state, each used well. */
async function browser(caller: Caller): Promise<string[]> {
  const { id } = Profile.parse(await caller.call("/profiles", "POST", { name: "p" }));
  const storageState = { cookies: [], origins: [] };
  await caller.call(`/profiles/${id}/save`, "POST", { storageState });
  const made = SessionCreated.parse(await caller.call("/sessions", "POST", { profileId: id }));
  const state = made.storageStateUrl?.url ?? "no URL";
  await caller.call(new URL(state).pathname);
  (await caller.socket(made.wsEndpoint, "no message")).terminate();
  const cdp = await caller.socket(made.cdpEndpoint, '{"id":1,"method":"Browser.getVersion"}');
  await once(cdp, "message");
  cdp.close();
  await caller.call(`/sessions/${made.sessionId}`);
  await caller.call(`/sessions/${made.sessionId}/replay-url`);
  return [made.wsEndpoint, made.cdpEndpoint, state];
}

/** A sandbox: its control socket, a file and a preview, each used well. */
async function machine(caller: Caller): Promise<string[]> {
  const { sandboxId } = SandboxCreated.parse(await caller.call("/sandboxes", "POST", {}));
  const path = `/sandboxes/${sandboxId}`;
  const signed = async (mode: string): Promise<string> =>
    SignedFileUrl.parse(await caller.call(`${path}/files/${mode}-url?path=/tmp/a`)).url;
  const [upload, download] = [await signed("upload"), await signed("download")];
  const at = ({ pathname, search }: URL): string => pathname + search;
  await caller.call(at(new URL(upload)), "PUT", "text");
  await caller.call(at(new URL(download)));
  const preview = Preview.parse(await caller.call(`${path}/ports/8000`)).url;
  await sendRaw(new URL(caller.service.url), [
    `GET ${at(new URL(preview))} HTTP/1.1`,
    `Host: ${new URL(preview).host}`,
  ]);
  const control = `${caller.service.url.replace("http", "ws")}/control/${sandboxId}`;
  (await caller.socket(control, "no message")).terminate();
  return [upload, download, preview, control];
}

/** What a host stores and reads: whole, and in parts. */
async function objects(caller: Caller): Promise<string[]> {
  const ask = async (body: object): Promise<ObjectUrls> => {
    const object = { purpose: "volume", volume: VOLUME, file: "chunk-1" };
    const answer = await caller.call(
      "/internal/objects",
      "POST",
      { object, ...body },
      "host.token",
    );
    return ObjectUrls.parse(answer);
  };
  const { put = "" } = await ask({ sizeBytes: 4 });
  await caller.call(new URL(put).pathname, "PUT", "text");
  const { get = "" } = await ask({});
  await caller.call(new URL(get).pathname);
  const { parts = [], complete = "" } = await ask({ sizeBytes: 40 * 1024 * 1024 });
  await caller.call(new URL(complete).pathname, "POST", { etags: ["a", "b"] });
  return [put, get, complete, ...parts.map(({ url }) => url)];
}

/** Uses the URLs of stored objects while R2 has no folder. */
async function withoutStore(caller: Caller, urls: string[]): Promise<void> {
  const r2 = join(caller.service.folder, "state/v3/r2");
  renameSync(r2, `${r2}.gone`);
  writeFileSync(r2, "");
  for (const url of urls.filter((one) => one.includes("/objects/"))) {
    const { pathname } = new URL(url);
    await caller.call(pathname);
    await caller.call(pathname, "PUT", "text");
    await caller.call(pathname, "POST", { etags: ["a", "b"] });
  }
  rmSync(r2);
  renameSync(`${r2}.gone`, r2);
}

/** Uses the URLs at the moment at which a process behind them dies, and after that. */
async function whileItDies(caller: Caller, urls: string[], role: Role): Promise<void> {
  const sockets = urls.filter((url) => url.startsWith("ws:"));
  const open = await Promise.all(sockets.map((url) => caller.socket(url)));
  const asked = urls.map((url) => {
    const { pathname, search, protocol } = new URL(url);
    const asking = protocol === "ws:" ? caller.socket(url) : caller.call(pathname + search);
    return asking.catch(() => null);
  });
  await killed(caller.service, role);
  const again = sockets.map((url) => caller.socket(url));
  await Promise.all([...asked, ...again]);
  for (const socket of open) socket.terminate();
}
