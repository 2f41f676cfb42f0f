import { env } from "cloudflare:workers";
import { SignedFileUrl } from "@svc/contract/vm/files.ts";
import { Preview } from "@svc/contract/vm/preview.ts";
import { SandboxRecord } from "@svc/contract/vm/sandbox.ts";
import { describe, expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { servePreview } from "../../../src/previews/serve.ts";
import { BASE, call, json, newOrg } from "../../support/worker/gateway.ts";
import { newSandbox, newVmHost } from "../../support/worker/vm-host.ts";
import { ADMIN_TOKEN } from "../../support/secrets.ts";

const HANDSHAKE = { upgrade: "websocket", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };

/** A paused sandbox, and what needs no key of it: minted while it was paused. */
async function paused(lifecycle: object = {}) {
  const host = await newVmHost();
  const { key, orgId } = await newOrg("professional", { vms: 1 });
  const { sandboxId: id } = await newSandbox(key, { lifecycle });
  const path = `/sandboxes/${id}`;
  expect((await call(`${path}/pause`, { method: "POST", bearer: key })).status).toBe(200);
  const minted = async (what: string) => (await call(`${path}/${what}`, { bearer: key })).json();
  const url = async (what: string) => SignedFileUrl.parse(await minted(`files/${what}`)).url;
  const [down, up] = [await url("download-url?path=/a"), await url("upload-url?path=/a")];
  const preview = Preview.parse(await minted("ports/3000")).url;
  const state = async () => {
    const listed = await call("/sandboxes", { bearer: key });
    const { sandboxes } = await listed.json<{ sandboxes: unknown[] }>();
    const all = sandboxes.map((one) => SandboxRecord.parse(one));
    return all.find(({ sandboxId }) => sandboxId === id)?.state;
  };
  const doors: Record<string, () => Promise<Response>> = {
    upload: () => call(up, { method: "PUT", body: "1" }),
    download: () => call(down),
    preview: () => call(preview),
    control: () => call(`/control/${id}`, { headers: HANDSHAKE }),
  };
  return { host, key, orgId, id, preview, doors, state, down };
}

const NAMES = ["upload", "download", "preview", "control"];
const GOOD: Record<string, number> = { upload: 200, download: 404, preview: 200, control: 101 };

describe.each(NAMES)("%s of a paused sandbox", (name) => {
  test("is 409 and wakes nothing", async () => {
    const { doors, state, host } = await paused();
    const response = await doors[name]?.();
    expect(response?.status).toBe(409);
    expect(await state()).toBe("paused");
    expect(await host.calls("POST", "resume")).toEqual([]);
  });

  test("with autoResume resumes it first, and many at once do so but once", async () => {
    const { doors, state, host } = await paused({ autoResume: true });
    const answers = await Promise.all(Array.from({ length: 5 }, async () => doors[name]?.()));
    for (const answer of answers) answer?.webSocket?.accept();
    expect(answers.map((answer) => answer?.status)).toEqual(Array(5).fill(GOOD[name]));
    for (const answer of answers) answer?.webSocket?.close();
    expect(await state()).toBe("running");
    expect(await host.calls("POST", "resume")).toHaveLength(1);
  });

  test("with autoResume is 429 when the cap is filled", async () => {
    const { doors, key } = await paused({ autoResume: true });
    await newSandbox(key);
    expect((await doors[name]?.())?.status).toBe(429);
  });
});

test("a preview that lets nobody in wakes nothing", async () => {
  const { preview, state } = await paused({ autoResume: true });
  const bare = new URL("/", preview).href;
  expect((await call(bare)).status).toBe(401);
  expect((await call(`${bare}?svc_token=x`)).status).toBe(401);
  expect(await state()).toBe("paused");
});

test("an org whose credit is used up is 402, and one that is gone from the plan 403", async () => {
  const { doors, orgId } = await paused({ autoResume: true });
  const patch = (body: object) =>
    call(`/admin/orgs/${orgId}`, { ...json(body, "PATCH"), bearer: ADMIN_TOKEN });
  await patch({ creditCents: 0 });
  expect((await doors["download"]?.())?.status).toBe(402);
  await patch({ creditCents: null, overrides: { features: { sandboxes: false } } });
  expect((await doors["download"]?.())?.status).toBe(403);
});

test("a control plane that fails stands in nobody's way", async () => {
  const { preview, down, state } = await paused({ autoResume: true });
  const DB = new Proxy(env.DB, {
    get: () => () => {
      throw new Error("D1 is down");
    },
  });
  const bare = { ...env, DB };
  expect((await servePreview(new Request(preview), bare)).status).toBe(200);
  expect((await app.request(down.replace(BASE, ""), {}, bare)).status).toBe(404);
  expect(await state()).toBe("running");
});
