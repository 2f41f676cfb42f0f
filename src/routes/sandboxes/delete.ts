import type { Deleted } from "@svc/contract/vm/sandbox.ts";
import type { Handler } from "../../context.ts";
import { ownedSandbox } from "./owned.ts";

export const deleteSandbox: Handler = async (c) => {
  const sandbox = await ownedSandbox(c);
  const { id, org } = sandbox;
  await sandbox.ask((object) => object.delete({ id, org }));
  const body: Deleted = { ok: true };
  return c.json(body);
};
