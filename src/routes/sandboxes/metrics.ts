import { accepted } from "../../accepted.ts";
import type { Handler } from "../../context.ts";
import { ownedSandbox } from "./owned.ts";

export const sandboxMetrics: Handler = async (c) => {
  const sandbox = await ownedSandbox(c);
  const { metrics } = accepted(await sandbox.ask((object) => object.metrics()));
  return c.json(metrics);
};
