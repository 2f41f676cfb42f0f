import { env } from "cloudflare:workers";
import { SandboxRecord } from "@svc/contract/vm/sandbox.ts";
import { call, json, newOrg } from "./gateway.ts";
import { newSandbox, newVmHost } from "./vm-host.ts";

/** A sandbox of an org that may have as many, alone on its host; how that answers is set before. */
export async function running(body: object = {}, vms = 1, steered: object = {}) {
  const host = await newVmHost();
  await host.steer(steered);
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

interface Segment {
  id: string;
  kind: string;
  ended_at: number | null;
  cpu: number;
  mem_mb: number;
}

/** The spans of an org's bill as they are stored, in their order. */
export async function segments(orgId: string): Promise<Segment[]> {
  const sql = "SELECT * FROM usage_segments WHERE org_id = ? ORDER BY started_at";
  return (await env.DB.prepare(sql).bind(orgId).all<Segment>()).results;
}

/** Of each span of an org's bill, whether it is over. */
export const ends = async (orgId: string) =>
  (await segments(orgId)).map((span) => span.ended_at !== null);
