import { SnapshotList, SnapshotRecord } from "@svc/contract/vm/snapshot.ts";
import { call, json, newOrg } from "./gateway.ts";
import { newSandbox, newVmHost } from "./vm-host.ts";

/** A sandbox on a host that can save machines, alone in the fleet, with what to do with its snapshots. */
export async function snapshotting(body: object = {}, overrides: object = {}) {
  const host = await newVmHost({ capabilities: ["snapshots", "desktop", "isolation.shared"] });
  const { key, orgId } = await newOrg("professional", overrides);
  const { sandboxId: id } = await newSandbox(key, body);
  return { host, orgId, id, ...callerOf(key, id) };
}

/** What an org does with a sandbox of its own and its snapshots. */
export function callerOf(key: string, id: string) {
  const post = (path: string, sent?: object) =>
    call(path, { ...(sent ? json(sent) : { method: "POST" }), bearer: key });
  const take = (sent?: object) => post(`/sandboxes/${id}/snapshots`, sent);
  const taken = async (sent?: object) => SnapshotRecord.parse(await (await take(sent)).json());
  const fork = (fromSnapshot: string, sent: object = {}) =>
    post("/sandboxes", { ...sent, fromSnapshot });
  const revert = (snapshotId: unknown) => post(`/sandboxes/${id}/revert`, { snapshotId });
  const get = (path: string) => call(path, { bearer: key });
  const remove = (path: string) => call(path, { method: "DELETE", bearer: key });
  const list = async (query = "") =>
    SnapshotList.parse(await (await get(`/snapshots${query}`)).json());
  const childrenOf = async (snapshotId: string) =>
    SnapshotRecord.parse(await (await get(`/snapshots/${snapshotId}`)).json()).children;
  return { key, post, take, taken, fork, revert, get, remove, list, childrenOf };
}
