import { errorResponse, isRefusal } from "@svc/contract/errors.ts";
import type { Handler } from "../../context.ts";
import { ownedSandbox } from "./owned.ts";

export const sandboxMetrics: Handler = async (c) => {
  const sandbox = await ownedSandbox(c);
  const answer = await sandbox.ask((object) => object.metrics());
  return isRefusal(answer) ? errorResponse(answer.refused) : c.json(answer.metrics);
};
