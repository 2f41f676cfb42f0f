import type { DesktopPaused } from "@svc/contract/vm/desktop.ts";
import { accepted } from "../../accepted.ts";
import type { Handler } from "../../context.ts";
import { livingDesktop } from "./owned.ts";

export const pauseDesktop: Handler = async (c) => {
  const desktop = await livingDesktop(c);
  const sessionId = desktop.id;
  accepted(await desktop.ask((object) => object.pause()));
  const body: DesktopPaused = { sessionId, status: "paused" };
  return c.json(body);
};
