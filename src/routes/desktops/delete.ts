import type { Deleted } from "@svc/contract/vm/sandbox.ts";
import type { Handler } from "../../context.ts";
import { ownedDesktop } from "./owned.ts";

export const deleteDesktop: Handler = async (c) => {
  const desktop = await ownedDesktop(c);
  const { id, org } = desktop;
  await desktop.ask((object) => object.delete({ id, org }));
  const body: Deleted = { ok: true };
  return c.json(body);
};
