import { Org, OrgList } from "@svc/contract/admin/orgs.ts";
import { expect, test } from "vitest";
import { admin, BAD_ORGS } from "../../support/worker/operator.ts";
import { json } from "../../support/worker/gateway.ts";

test("an org has the free plan, no overrides and no prepaid credit unless told", async () => {
  const response = await admin("/admin/orgs", json({ name: "  Acme " }));
  expect(response.status).toBe(201);
  const org = Org.parse(await response.json());
  expect(org).toMatchObject({ name: "Acme", plan: "free", overrides: {}, creditCents: null });
  expect(org.orgId).toMatch(/^org_[0-9A-Za-z]{16}$/);
  const { orgs } = OrgList.parse(await (await admin("/admin/orgs")).json());
  expect(orgs).toContainEqual(org);
});

test.each(BAD_ORGS)(
  "an org is not made by %s: 400 that names the field",
  async (_name, body, code, field) => {
    const response = await admin("/admin/orgs", { method: "POST", body });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code, ...(field !== undefined && { field }) });
  },
);

test("an org with a blank name is 400", async () => {
  const response = await admin("/admin/orgs", json({ name: "  " }));
  expect(await response.json()).toMatchObject({ code: "ValidationError", field: "name" });
});
