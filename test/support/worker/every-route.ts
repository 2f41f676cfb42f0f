import type { Auth, Operation } from "@svc/contract/operations/operation.ts";
import { mintSessionId, mintVmId } from "@svc/contract/tokens.ts";
import { mintConsoleToken } from "@svc/contract/tokens/console.ts";
import { expect, test } from "vitest";
import { calledPath, filled } from "../called-path.ts";
import { call, codeOf, json, newOrg } from "./gateway.ts";
import { ADMIN_TOKEN, HOST_TOKEN, SIGNING_SECRET } from "../secrets.ts";

const SESSION = {
  mint: mintSessionId,
  answer: '{"error":"There is no such session.","code":"InvalidSessionId"}',
};
const SANDBOX = {
  mint: mintVmId,
  answer: '{"error":"There is no such sandbox.","code":"NotFound"}',
};
const DESKTOP = { ...SANDBOX, answer: SANDBOX.answer.replace("sandbox", "desktop") };
const HOUR_MS = 3_600_000;
const UNAUTHORIZED = '{"error":"Unauthorized"}';

const CREDENTIAL = { operator: ADMIN_TOKEN, host: HOST_TOKEN };

const BEARERS: readonly Auth[] = ["key", "console", "operator", "host"];
const FORGED = {
  objectUrl: { status: 404, code: "ObjectNotFound" },
  fileUrl: { status: 403, code: "InvalidFileToken" },
};

/** A bearer that passes an operation's check. */
async function credential(op: Operation): Promise<string> {
  if (op.auth === "operator" || op.auth === "host") return CREDENTIAL[op.auth];
  // Of a plan that may have nothing: a create is refused, and waits for nobody.
  const { key, keyId, orgId: org } = await newOrg("free", { browsers: 0, vms: 0 });
  if (op.auth !== "console") return key;
  return mintConsoleToken(SIGNING_SECRET, { org, keyId, expiresAt: Date.now() + HOUR_MS });
}

/**
 * The tests that hold for every operation: its credential, other orgs' ids, its body cap. `goodBody` is
 * one that it accepts, so that what is refused is the id.
 */
export function everyRoute(op: Operation, goodBody: unknown = {}): void {
  isMounted(op);
  if (BEARERS.includes(op.auth)) refusesStrangers(op);
  if (op.auth === "objectUrl" || op.auth === "fileUrl") refusesForgedUrls(op, op.auth);
  if (op.auth === "key") refusesBadKeys(op);
  if (op.errors.includes("InvalidSessionId") && op.auth === "key")
    hidesOtherOrgs(op, goodBody, SESSION);
  if (op.path.startsWith("/sandboxes/:id")) hidesOtherOrgs(op, goodBody, SANDBOX);
  if (op.path.startsWith("/desktops/:id")) hidesOtherOrgs(op, goodBody, DESKTOP);
  if (op.method !== "GET") capsBody(op);
}

function isMounted(op: Operation): void {
  test("it is mounted: what it answers is not the answer of an unknown route", async () => {
    const bearer = await credential(op);
    const response = await call(filled(op.path, "x"), { method: op.method, bearer });
    expect(await response.text()).not.toContain("There is no such route.");
  });
}

function refusesStrangers(op: Operation): void {
  test.each([
    ["no Authorization", {}],
    ["basic auth", { authorization: `Basic ${btoa("a:b")}` }],
    ["an empty bearer", { authorization: "Bearer " }],
    ["a bearer of another kind", { authorization: "Bearer nonsense" }],
  ])("%s is 401 and says nothing more", async (_name, headers) => {
    const response = await call(filled(op.path, "x"), { method: op.method, headers });
    expect(response.status).toBe(401);
    expect(await response.text()).toBe(UNAUTHORIZED);
  });
}

function refusesForgedUrls(op: Operation, kind: keyof typeof FORGED): void {
  test("a URL without a token, with a forged one, and with one for another method are refused alike", async () => {
    const other = { ...op, method: op.method === "GET" ? "PUT" : "GET" } as const;
    const genuine = await calledPath(op);
    for (const path of [filled(op.path, "x"), genuine.slice(0, -1), await calledPath(other)]) {
      const response = await call(path, { method: op.method });
      expect(await codeOf(response)).toEqual(FORGED[kind]);
    }
  });
}

function refusesBadKeys(op: Operation): void {
  const unknown = `svc_live_${"a".repeat(12)}_${"b".repeat(40)}`;

  test("an unknown key, a wrong secret and a revoked key are 401", async () => {
    const { key, keyId } = await newOrg();
    const wrong = key.slice(0, -1) + (key.endsWith("0") ? "1" : "0");
    // Used once, so that the revoked key has been in the cache.
    await call("/sessions", { bearer: key });
    await call(`/admin/keys/${keyId}`, { method: "DELETE", bearer: ADMIN_TOKEN });
    for (const bearer of [unknown, wrong, key]) {
      const response = await call(filled(op.path, "x"), { method: op.method, bearer });
      expect(response.status).toBe(401);
      expect(await response.text()).toBe(UNAUTHORIZED);
    }
  });
}

function hidesOtherOrgs(op: Operation, goodBody: unknown, kind: typeof SESSION): void {
  test("forged, truncated, unknown and other orgs' ids are 404 with the same bytes", async () => {
    const { orgId, key } = await newOrg();
    const other = await newOrg();
    const mint = (secret: string, org: string) => kind.mint(secret, { org, issuedAt: Date.now() });
    const another = kind === SESSION ? mintVmId : mintSessionId;
    const foreign = await mint(SIGNING_SECRET, other.orgId);
    const ids = [
      "nope",
      await mint("another secret", orgId),
      await another(SIGNING_SECRET, { org: orgId, issuedAt: Date.now() }),
      foreign.slice(0, -1),
      `${foreign}.${foreign}`,
      foreign,
    ];
    for (const id of ids) {
      const init = op.request ? json(goodBody, op.method) : { method: op.method };
      const response = await call(filled(op.path, id), { ...init, bearer: key });
      expect(response.status).toBe(404);
      expect(await response.text()).toBe(kind.answer);
    }
  });
}

function capsBody(op: Operation): void {
  test("a body above its cap is 413 with the limit, whether its length is told or not", async () => {
    const bearer = await credential(op);
    const text = "x".repeat(op.bodyBytes + 1);
    const untold = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(text));
        controller.close();
      },
    });
    // What is passed on as it comes is counted on its way: its own tests show that.
    for (const body of op.isRaw ? [text] : [text, untold]) {
      const response = await call(await calledPath(op), { method: op.method, bearer, body });
      expect(response.status).toBe(413);
      expect(await response.json()).toMatchObject({
        code: "PayloadTooLarge",
        limit: op.bodyBytes,
      });
    }
  });
}
