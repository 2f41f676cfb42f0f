import type { Handler } from "../../context.ts";
import { noSandbox, ownedSandbox } from "./owned.ts";
import { recordOf } from "./record.ts";

export const getSandbox: Handler = async (c) => {
  const sandbox = await ownedSandbox(c);
  const view = await sandbox.ask((object) => object.read());
  if (!view) throw noSandbox();
  return c.json(recordOf(view));
};
