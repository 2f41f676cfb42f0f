import type { SandboxPaused } from "@svc/contract/vm/sandbox.ts";
import { accepted } from "../../accepted.ts";
import type { Handler } from "../../context.ts";
import { ownedSandbox } from "./owned.ts";

export const pauseSandbox: Handler = async (c) => {
  const sandbox = await ownedSandbox(c);
  accepted(await sandbox.ask((object) => object.pause()));
  const body: SandboxPaused = { state: "paused" };
  return c.json(body);
};
