import { env } from "cloudflare:workers";
import { SandboxRecord } from "@svc/contract/vm/sandbox.ts";
import { call, json, newOrg } from "./gateway.ts";
import { newSandbox, newVmHost } from "./vm-host.ts";

/** A sandbox of an org that may have as many, alone on its host. */
export async function running(body: object = {}, vms = 1) {
  const host = await newVmHost();
  const { key, orgId } = await newOrg("professional", { vms });
  const { sandboxId: id } = await newSandbox(key, body);
  const path = `/sandboxes/${id}`;
  const post = (what: string, sent?: object) =>
    call(`${path}/${what}`, { ...(sent ? json(sent) : { method: "POST" }), bearer: key });
  const record = async () => SandboxRecord.parse(await (await call(path, { bearer: key })).json());
  const state = async () => (await record()).state;
  const stub = env.SANDBOXES.getByName(id);
  return { host, key, orgId, id, path, post, record, state, stub };
}

/** The same, paused already. */
export async function paused(body: object = {}) {
  const all = await running(body);
  const response = await all.post("pause");
  if (response.status !== 200) throw new Error(await response.text());
  return all;
}

/** Of each span of an org's bill, whether it is over. */
export const ends = async (orgId: string) => {
  const sql = "SELECT ended_at FROM usage_segments WHERE org_id = ? ORDER BY started_at";
  const { results } = await env.DB.prepare(sql).bind(orgId).all<{ ended_at: number | null }>();
  return results.map((row) => row.ended_at !== null);
};
