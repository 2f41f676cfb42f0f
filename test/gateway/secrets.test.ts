import { env } from "cloudflare:workers";
import { OPERATIONS } from "@svc/contract/operations/index.ts";
import type { Operation } from "@svc/contract/operations/operation.ts";
import { describe, expect, test, vi } from "vitest";
import { app } from "../../src/app.ts";
import { servePreview } from "../../src/previews/serve.ts";
import { calledPath } from "../support/called-path.ts";
import { ADMIN_TOKEN, HOST_TOKEN } from "../support/secrets.ts";

const SHORT = "a".repeat(42);
const BEARERS: Partial<Record<string, string>> = { operator: ADMIN_TOKEN, host: HOST_TOKEN };
const NAMES = ["SVC_HOST_TOKEN", "SVC_SIGNING_SECRET", "SVC_ADMIN_TOKEN"] as const;

describe.each([
  ...NAMES.map((name) => [`a short ${name}`, name, SHORT] as const),
  ["no SVC_HOST_TOKEN", "SVC_HOST_TOKEN", ""],
  ["no SVC_SIGNING_SECRET", "SVC_SIGNING_SECRET", ""],
] as const)("with %s", (_case, name, value) => {
  const bare = { ...env, [name]: value };
  const told = {
    code: "NotConfigured",
    error: expect.stringMatching(new RegExp(`^${name} .*node -p`)),
  };

  test("every route but /health is 501, names the variable, and the log has it", async () => {
    const error = vi.spyOn(console, "error");
    const { health: _health, ...others } = OPERATIONS;
    for (const op of Object.values<Operation>(others)) {
      const authorization = `Bearer ${BEARERS[op.auth] ?? "none"}`;
      const init = { method: op.method, headers: { authorization } };
      const response = await app.request(await calledPath(op), init, bare);
      const answer = [op.path, response.status, await response.json()];
      expect(answer).toEqual([op.path, 501, told]);
    }
    expect((await app.request("/health", {}, bare)).status).toBe(200);
    const lines = error.mock.calls.map(([line]) => String(line));
    expect(lines.find((line) => line.includes("not_configured"))).toContain(name);
    expect(lines.join("\n")).not.toContain(SHORT);
  });

  test("so are sockets, previews and routes that are not there", async () => {
    const answers = [
      await app.request("/ws/x", {}, bare),
      await app.request("/control/x", {}, bare),
      await app.request("/nowhere", {}, bare),
      await servePreview(new Request("http://a-80.preview.test/"), bare),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(501);
      expect(await answer.json()).toEqual(told);
    }
  });
});

test("43 characters are enough, and no SVC_ADMIN_TOKEN turns the operator API off alone", async () => {
  const { SVC_ADMIN_TOKEN: _unset, ...bare } = env;
  const enough = { ...bare, SVC_HOST_TOKEN: "a".repeat(43), SVC_SIGNING_SECRET: "b".repeat(43) };
  expect((await app.request("/sessions", {}, enough)).status).toBe(401);
  expect((await app.request("/admin/orgs", {}, enough)).status).toBe(501);
});
