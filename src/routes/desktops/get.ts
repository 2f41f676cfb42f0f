import { DESKTOP_STATUS, type DesktopRecord } from "@svc/contract/vm/desktop.ts";
import type { Handler } from "../../context.ts";
import { noDesktop, ownedDesktop } from "./owned.ts";

export const getDesktop: Handler = async (c) => {
  const desktop = await ownedDesktop(c);
  const { id: sessionId, org: orgId } = desktop;
  const view = await desktop.ask((object) => object.read());
  // A gone sandbox has a record for a day, which tells that it was no desktop.
  if (view && view.kind !== "desktop") throw noDesktop();
  const status = view ? DESKTOP_STATUS[view.state] : "gone";
  const isGone = !view || status === "gone";
  const expiresAt = isGone ? null : new Date(view.expiresAt).toISOString();
  const body: DesktopRecord = { sessionId, status, expiresAt, orgId };
  return c.json(body);
};
