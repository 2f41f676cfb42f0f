import { LIMITS } from "../limits.ts";
import { Deleted } from "../vm/sandbox.ts";
import { CreateTemplate, Template, TemplateList, TemplateLogs } from "../vm/template.ts";
import type { Operation } from "./operation.ts";

const common = { auth: "key", bodyBytes: LIMITS.vmRequestBodyBytes } as const;
const STORES = ["ControlPlaneUnavailable", "ObjectUnavailable"] as const;

/** Custom templates (decisions, Additive routes). An id that is not the caller's is `NotFound`. */
export const TEMPLATES = {
  createTemplate: {
    ...common,
    method: "POST",
    path: "/templates",
    summary:
      "Build a template: machines made of it start where the build ended. Its disk is at least as large as the image it begins with.",
    idempotent: true,
    request: CreateTemplate,
    example: {
      name: "jq",
      compiled: { from: { template: "base" }, steps: [{ type: "apt", packages: ["jq"] }] },
    },
    success: { status: 202, body: Template },
    errors: [
      "InvalidJson",
      "ValidationError",
      "LocalFilesUnsupported",
      "InvalidIdempotencyKey",
      "IdempotencyKeyReused",
      "NotEntitled",
      "FeatureRequiresPlan",
      "InsufficientCredit",
      "NotFound",
      "TemplateKindMismatch",
      "TemplateNotReady",
      "SnapshotNotReady",
      "SnapshotNotRestorable",
      "ConcurrencyLimitExceeded",
      "PlanLimitExceeded",
      "AdmissionUnavailable",
      ...STORES,
    ],
  },
  listTemplates: {
    ...common,
    method: "GET",
    path: "/templates",
    summary:
      "List the built-in templates, then the org's, newest first. A built-in template is `ready` while a registered host can serve it; else `building`, or `failed` with the reason.",
    success: { status: 200, body: TemplateList },
    errors: STORES,
  },
  getTemplate: {
    ...common,
    method: "GET",
    path: "/templates/:id",
    summary: "Read a template.",
    success: { status: 200, body: Template },
    errors: ["NotFound", "ObjectUnavailable"],
  },
  templateLogs: {
    ...common,
    method: "GET",
    path: "/templates/:id/logs",
    summary: "Read the log of a build, or follow it with `Accept: text/event-stream`.",
    query: { offset: { description: "The `nextOffset` of the page before." } },
    success: { status: 200, body: TemplateLogs },
    errors: ["NotFound", "ObjectUnavailable"],
  },
  cancelTemplate: {
    ...common,
    method: "POST",
    path: "/templates/:id/cancel",
    summary: "Cancel a build: the template becomes `failed`. A finished build stays as it is.",
    success: { status: 202, body: Template },
    errors: ["NotFound", "ObjectUnavailable"],
  },
  deleteTemplate: {
    ...common,
    method: "DELETE",
    path: "/templates/:id",
    summary: "Delete a template. Machines made of it go on.",
    success: { status: 200, body: Deleted },
    errors: ["NotFound", "TemplateBuilding", ...STORES],
  },
} as const satisfies Record<string, Operation>;
