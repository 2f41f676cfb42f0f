import { HostList } from "@svc/contract/admin/hosts.ts";
import { KeyCreated, Org } from "@svc/contract/admin/orgs.ts";
import type { PlanName, PlanOverrides } from "@svc/contract/plans.ts";
import { DesktopCreated } from "@svc/contract/vm/desktop.ts";
import { SandboxCreated, SandboxRecord } from "@svc/contract/vm/sandbox.ts";
import { SnapshotRecord } from "@svc/contract/vm/snapshot.ts";
import { Volume } from "@svc/contract/vm/volume.ts";
import type { FakeVmMode } from "../support/fakes/vm-host.ts";
import { type Answer, Caller, OrgCaller } from "./caller.ts";
import type { VmTarget } from "./vm-target.ts";

/** The two surfaces of document 2. */
export const SURFACES = ["/sandboxes", "/desktops"] as const;
export type Surface = (typeof SURFACES)[number];

/** A machine of a test's own, deleted when the test is done with it. */
export interface Machine extends AsyncDisposable {
  id: string;
  /** Where it is on the surface that made it: `/desktops/<id>`. */
  path: string;
  /** Where it is on the surface of all: `/sandboxes/<id>`. */
  sandbox: string;
  controlUrl: string;
  /** Of desktops. */
  streamUrl: string;
  expiresAt: string;
  act(what: string, body?: object): Promise<Answer>;
  record(): Promise<SandboxRecord>;
}

/** An org of a test's own, as the caller that holds its key. */
export class VmOrg extends OrgCaller {
  async make(surface: Surface = "/sandboxes", body?: object, headers = {}): Promise<Machine> {
    return this.made(surface, await this.post(surface, body, headers));
  }

  /** The machine of a 201. */
  made(surface: Surface, { status, text, json }: Answer): Machine {
    if (status !== 201) throw new Error(`POST ${surface}: ${status} ${text}`);
    const facts =
      surface === "/sandboxes" ? sandboxOf(SandboxCreated.parse(json)) : DesktopCreated.parse(json);
    const { sessionId: id, controlUrl, streamUrl, expiresAt } = facts;
    const path = `${surface}/${encodeURIComponent(id)}`;
    const sandbox = `/sandboxes/${encodeURIComponent(id)}`;
    return {
      id,
      path,
      sandbox,
      controlUrl,
      streamUrl,
      expiresAt,
      act: (what, body) => this.post(`${path}/${what}`, body),
      record: async () => SandboxRecord.parse((await this.get(sandbox)).json),
      [Symbol.asyncDispose]: async () => void (await this.delete(path)),
    };
  }

  async volume(body: object = {}): Promise<Volume> {
    return Volume.parse((await this.post("/volumes", body)).json);
  }

  async snapshot(machine: Machine): Promise<SnapshotRecord> {
    return SnapshotRecord.parse((await this.post(`${machine.sandbox}/snapshots`, {})).json);
  }

  /** A build that takes a while; a fake host is made to let it. */
  async template(kind: "sandbox" | "desktop"): Promise<string> {
    const template = kind === "sandbox" ? "base" : "default";
    const compiled = { from: { template }, steps: [{ type: "run", cmd: "sleep 600" }] };
    const answer = await this.post("/templates", { name: "mine", kind, compiled });
    if (answer.status !== 202) throw new Error(`POST /templates: ${answer.status} ${answer.text}`);
    return (answer.json as { templateId: string }).templateId;
  }
}

const sandboxOf = ({ sandboxId, controlUrl, streamUrl = "", expiresAt }: SandboxCreated) => ({
  sessionId: sandboxId,
  controlUrl,
  streamUrl,
  expiresAt,
});

/** What the tests of a section are given. */
export interface VmService extends VmTarget {
  /** Without a key. */
  stranger: Caller;
  admin: Caller;
  /** The surfaces that a host serves. */
  surfaces: Surface[];
  /** What its hosts can do. */
  can: Set<string>;
  /** Lets the host behind a gateway of our own answer so. */
  steer(mode: Partial<FakeVmMode>): Disposable;
  newOrg(plan?: PlanName, overrides?: PlanOverrides, creditCents?: number): Promise<VmOrg>;
  patchOrg(org: VmOrg, facts: object): Promise<void>;
}

export async function vmServiceOf(target: VmTarget): Promise<VmService> {
  const { base, adminToken, faults } = target;
  const admin = new Caller(base, adminToken);
  const { hosts } = HostList.parse((await admin.get("/admin/hosts")).json);
  const can = new Set(hosts.flatMap(({ capabilities = [] }) => capabilities));
  return {
    ...target,
    stranger: new Caller(base, null),
    admin,
    surfaces: SURFACES.filter((surface) => surface === "/sandboxes" || can.has("desktop")),
    can,
    steer: (mode) => {
      if (!faults) throw new Error("a real host is not made to fail");
      return faults.steer(mode);
    },
    newOrg: async (plan = "professional", overrides = {}, creditCents) => {
      const wanted = { name: "conformance", plan, overrides, creditCents };
      const { orgId } = Org.parse((await admin.post("/admin/orgs", wanted)).json);
      const made = await admin.post(`/admin/orgs/${orgId}/keys`, {});
      return new VmOrg(base, orgId, KeyCreated.parse(made.json));
    },
    patchOrg: async ({ orgId }, facts) => {
      const { status, text } = await admin.send("PATCH", `/admin/orgs/${orgId}`, facts);
      if (status !== 200) throw new Error(`PATCH /admin/orgs: ${status} ${text}`);
    },
  };
}
