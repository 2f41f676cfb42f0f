import { ApiError } from "@svc/contract/errors.ts";
import type { AppContext } from "../../context.ts";
import { type OwnedSandbox, ownedSandbox } from "../sandboxes/owned.ts";

/** Forged, malformed, another org's, a sandbox without a screen: one answer, to the byte. */
export const noDesktop = (): ApiError => new ApiError("NotFound", "There is no such desktop.");

/**
 * The desktop of a path's `:id` when it is the caller's own. A desktop whose record is gone passes: the id alone does not
 * tell a desktop from a sandbox, and a desktop that is gone is no error here (document 2).
 */
export async function ownedDesktop(c: AppContext): Promise<OwnedSandbox> {
  const desktop = await ownedSandbox(c, noDesktop);
  const kind = await desktop.ask((object) => object.kind());
  if (kind === "sandbox") throw noDesktop();
  return desktop;
}

/** The same for operations that need a desktop that is not over. */
export async function livingDesktop(c: AppContext): Promise<OwnedSandbox> {
  const desktop = await ownedSandbox(c, noDesktop);
  const kind = await desktop.ask((object) => object.kind());
  if (kind !== "desktop") throw noDesktop();
  return desktop;
}
