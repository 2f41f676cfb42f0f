import { errorResponse, isRefusal } from "@svc/contract/errors.ts";
import type { DesktopPaused } from "@svc/contract/vm/desktop.ts";
import type { Handler } from "../../context.ts";
import { livingDesktop } from "./owned.ts";

export const pauseDesktop: Handler = async (c) => {
  const desktop = await livingDesktop(c);
  const sessionId = desktop.id;
  const answer = await desktop.ask((object) => object.pause());
  if (isRefusal(answer)) return errorResponse(answer.refused);
  const body: DesktopPaused = { sessionId, status: "paused" };
  return c.json(body);
};
