import { HostList } from "../admin/hosts.ts";
import {
  CreateKey,
  CreateOrg,
  KeyCreated,
  KeyList,
  Org,
  OrgList,
  PatchOrg,
} from "../admin/orgs.ts";
import { LIMITS } from "../limits.ts";
import type { Operation } from "./operation.ts";

const operator = { auth: "operator", bodyBytes: LIMITS.requestBodyBytes } as const;
const invalid = ["InvalidJson", "ValidationError"] as const;

/** The operator API (decisions). Without SVC_ADMIN_TOKEN every route of it is 501. */
export const ADMIN = {
  createOrg: {
    ...operator,
    method: "POST",
    path: "/admin/orgs",
    summary: "Create an org.",
    request: CreateOrg,
    example: { name: "acme", plan: "starter" },
    success: { status: 201, body: Org },
    errors: [...invalid, "ControlPlaneUnavailable"],
  },
  listOrgs: {
    ...operator,
    method: "GET",
    path: "/admin/orgs",
    summary: "List the orgs, newest first.",
    success: { status: 200, body: OrgList },
    errors: ["ControlPlaneUnavailable"],
  },
  patchOrg: {
    ...operator,
    method: "PATCH",
    path: "/admin/orgs/:id",
    summary: "Change an org's plan, overrides or credit: the org's balance from now on.",
    request: PatchOrg,
    example: { plan: "professional" },
    success: { status: 200, body: Org },
    errors: [...invalid, "NotFound", "ControlPlaneUnavailable"],
  },
  createKey: {
    ...operator,
    method: "POST",
    path: "/admin/orgs/:id/keys",
    summary: "Create an API key. This is the only time it is shown.",
    request: CreateKey,
    example: { name: "ci" },
    success: { status: 201, body: KeyCreated },
    errors: [...invalid, "NotFound", "ControlPlaneUnavailable"],
  },
  listKeys: {
    ...operator,
    method: "GET",
    path: "/admin/orgs/:id/keys",
    summary: "List the keys of an org, without secrets.",
    success: { status: 200, body: KeyList },
    errors: ["NotFound", "ControlPlaneUnavailable"],
  },
  revokeKey: {
    ...operator,
    method: "DELETE",
    path: "/admin/keys/:keyId",
    summary: "Revoke a key: at once on the replica that answers, within 60 s elsewhere.",
    success: { status: 204, body: null },
    errors: ["NotFound", "ControlPlaneUnavailable"],
  },
  listHosts: {
    ...operator,
    method: "GET",
    path: "/admin/hosts",
    summary: "List the registered hosts.",
    success: { status: 200, body: HostList },
    errors: ["ObjectUnavailable"],
  },
  drainHost: {
    ...operator,
    method: "POST",
    path: "/admin/hosts/:hostId/drain",
    summary: "Let a host take no new sessions until it is started again; the rest ends by itself.",
    success: { status: 202, body: null },
    errors: ["NotFound", "PoolUnreachable"],
  },
} as const satisfies Record<string, Operation>;
