import { env } from "cloudflare:workers";
import { Volume } from "@svc/contract/vm/volume.ts";
import { call, json } from "./gateway.ts";

/** A host that can mount volumes. */
export const MOUNTS = { capabilities: ["snapshots", "volumes.mount"] };

/** The sandbox that was made. */
export async function idOf(response: Response): Promise<string> {
  if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json<{ sandboxId: string }>()).sandboxId;
}

/** Creates a volume. */
export async function newVolume(key: string, body: object = {}): Promise<Volume> {
  const response = await call("/volumes", { ...json(body), bearer: key });
  return Volume.parse(await response.json());
}

/** Asks for a sandbox with these volumes, each in a folder of its own. */
export const createWith = (key: string, ids: string[], body: object = {}): Promise<Response> =>
  call("/sandboxes", {
    ...json({ ...body, volumes: ids.map((volumeId, n) => ({ volumeId, path: `/data${n}` })) }),
    bearer: key,
  });

/** Who has a volume by the control plane's row; null when nobody does. */
export async function holderOf(volumeId: string): Promise<string | null> {
  const sql = "SELECT attached_to FROM volumes WHERE id = ?";
  const row = await env.DB.prepare(sql).bind(volumeId).first<{ attached_to: string | null }>();
  if (!row) throw new Error("there is no such volume");
  return row.attached_to;
}
