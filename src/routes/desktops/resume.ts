import type { DesktopResumed } from "@svc/contract/vm/desktop.ts";
import type { Handler } from "../../context.ts";
import { resumeAs } from "../sandboxes/resume.ts";
import { livingDesktop } from "./owned.ts";

export const resumeDesktop: Handler = async (c) => {
  const { id: sessionId } = await livingDesktop(c);
  await resumeAs(c.env, sessionId, c.get("caller"));
  const body: DesktopResumed = { sessionId, status: "ready" };
  return c.json(body);
};
