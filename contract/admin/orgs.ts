import * as z from "zod";
import { PLAN_NAMES, PlanOverrides } from "../plans.ts";

const name = z.string().trim().min(1).max(200);
const plan = z.enum(PLAN_NAMES);
const overrides = PlanOverrides;
/** null = not prepaid. */
const creditCents = z.number().nullable();

/** POST /admin/orgs (decisions, Operator API). */
export const CreateOrg = z.object({
  name,
  plan: plan.default("free"),
  overrides: overrides.default({}),
  creditCents: creditCents.default(null),
});
export type CreateOrg = z.infer<typeof CreateOrg>;

/** PATCH /admin/orgs/:id: what is absent stays. */
export const PatchOrg = z.object({
  plan: plan.exactOptional(),
  overrides: overrides.exactOptional(),
  creditCents: creditCents.exactOptional(),
});
export type PatchOrg = z.infer<typeof PatchOrg>;

/** An org as the operator API shows it. */
export const Org = z.object({
  orgId: z.string(),
  name: z.string(),
  plan,
  overrides,
  creditCents,
  createdAt: z.iso.datetime(),
});
export type Org = z.infer<typeof Org>;

/** 200 of GET /admin/orgs. */
export const OrgList = z.object({ orgs: z.array(Org) });
export type OrgList = z.infer<typeof OrgList>;

/** POST /admin/orgs/:id/keys. */
export const CreateKey = z.object({ name: name.default("key") });
export type CreateKey = z.infer<typeof CreateKey>;

/** 201 of POST /admin/orgs/:id/keys: the only time the key is shown. */
export const KeyCreated = z.object({ keyId: z.string(), key: z.string() });
export type KeyCreated = z.infer<typeof KeyCreated>;

/** A key without its secret. */
export const KeyRecord = z.object({
  keyId: z.string(),
  name: z.string(),
  createdAt: z.iso.datetime(),
  revokedAt: z.iso.datetime().nullable(),
});
export type KeyRecord = z.infer<typeof KeyRecord>;

/** 200 of GET /admin/orgs/:id/keys: without the secrets. */
export const KeyList = z.object({ keys: z.array(KeyRecord) });
export type KeyList = z.infer<typeof KeyList>;
