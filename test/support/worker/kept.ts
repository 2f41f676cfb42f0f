import { Usage } from "@svc/contract/usage.ts";
import type { PlanOverrides } from "@svc/contract/plans.ts";
import { SandboxCreated } from "@svc/contract/vm/sandbox.ts";
import { call, json, newOrg } from "./gateway.ts";
import { newVmHost } from "./vm-host.ts";
import { ADMIN_TOKEN } from "../secrets.ts";

/** An org with overrides of its caps, on a host of its own that can save machines and mount volumes. */
export async function keeper(overrides: PlanOverrides) {
  const capabilities = ["snapshots", "desktop", "volumes.mount"];
  const host = await newVmHost({ capabilities });
  const { key, orgId } = await newOrg("professional", overrides);
  return { host, key, orgId, capabilities, ...actsOf(key, orgId) };
}

/** What an org does with what it keeps. */
function actsOf(key: string, orgId: string) {
  const post = (path: string, body: object = {}, headers: Record<string, string> = {}) =>
    call(path, { ...json(body), headers, bearer: key });
  const create = (body: object = {}) => post("/sandboxes", body);
  const created = async (body: object = {}) =>
    SandboxCreated.parse(await (await create(body)).json()).sandboxId;
  const pause = (id: string) => post(`/sandboxes/${id}/pause`);
  const resume = (id: string) => post(`/sandboxes/${id}/resume`);
  const remove = (path: string) => call(path, { method: "DELETE", bearer: key });
  /** A machine that is paused. */
  const paused = async (body: object = {}) => {
    const id = await created(body);
    const response = await pause(id);
    if (response.status !== 200) throw new Error(await response.text());
    return id;
  };
  const override = async (overrides: PlanOverrides) => {
    const patch = { ...json({ overrides }, "PATCH"), bearer: ADMIN_TOKEN };
    await call(`/admin/orgs/${orgId}`, patch);
  };
  const kept = async (): Promise<Usage["kept"]> =>
    Usage.parse(await (await call("/usage", { bearer: key })).json()).kept;
  return { post, create, created, pause, paused, resume, remove, override, kept };
}

/** The body of a refusal by a cap of what is kept. */
export const capFull = (kind: string, cap: number) => ({
  code: "PlanLimitExceeded",
  plan: "professional",
  cap,
  kind,
});

/** Status and body of an answer. */
export const told = async (response: Response): Promise<[number, unknown]> => [
  response.status,
  await response.json(),
];

/** Statuses in ascending order. */
export const statuses = (answers: Response[]): number[] =>
  answers.map(({ status }) => status).toSorted((a, b) => a - b);
