import { errorResponse, isRefusal } from "@svc/contract/errors.ts";
import type { SandboxPaused } from "@svc/contract/vm/sandbox.ts";
import type { Handler } from "../../context.ts";
import { ownedSandbox } from "./owned.ts";

export const pauseSandbox: Handler = async (c) => {
  const sandbox = await ownedSandbox(c);
  const answer = await sandbox.ask((object) => object.pause());
  if (isRefusal(answer)) return errorResponse(answer.refused);
  const body: SandboxPaused = { state: "paused" };
  return c.json(body);
};
