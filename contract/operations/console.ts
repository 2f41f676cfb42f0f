import { ConsoleToken, PutLogin, SavedLogin, SavedLogins } from "../browser/login.ts";
import { LIMITS } from "../limits.ts";
import type { Operation } from "./operation.ts";

const bodyBytes = LIMITS.requestBodyBytes;

/** Operations of people alone, in the console (decisions; docs/LOGINS.md): by the console's own token, never by an API key or a tool. */
export const CONSOLE = {
  consoleToken: {
    method: "POST",
    path: "/console/api/token",
    summary: "A token of the console, for 15 minutes, for the org of an API key.",
    auth: "key",
    bodyBytes,
    success: { status: 200, body: ConsoleToken },
    errors: [],
  },
  listLogins: {
    method: "GET",
    path: "/console/api/logins",
    summary: "List the saved logins of a profile, without their secrets.",
    auth: "console",
    bodyBytes,
    query: { profileId: { isRequired: true, description: "The profile." } },
    success: { status: 200, body: SavedLogins },
    errors: ["ProfileNotFound", "ControlPlaneUnavailable"],
  },
  getLogin: {
    method: "GET",
    path: "/console/api/logins/:profileId/:site",
    summary: "Read a saved login, without its secrets.",
    auth: "console",
    bodyBytes,
    success: { status: 200, body: SavedLogin },
    errors: ["ProfileNotFound", "NoSavedLogin", "ControlPlaneUnavailable"],
  },
  putLogin: {
    method: "PUT",
    path: "/console/api/logins/:profileId/:site",
    summary:
      "Save how browsers of a profile sign in to a site by themselves, in place of what was saved. The secrets are encrypted and never answered.",
    auth: "console",
    bodyBytes,
    request: PutLogin,
    success: { status: 200, body: SavedLogin },
    errors: [
      "InvalidJson",
      "ValidationError",
      "ProfileNotFound",
      "NotConfigured",
      "ControlPlaneUnavailable",
    ],
  },
  deleteLogin: {
    method: "DELETE",
    path: "/console/api/logins/:profileId/:site",
    summary: "Delete a saved login. What browsers of the profile are signed in to already stays.",
    auth: "console",
    bodyBytes,
    success: { status: 204, body: null },
    errors: ["ProfileNotFound", "NoSavedLogin", "ControlPlaneUnavailable"],
  },
} as const satisfies Record<string, Operation>;
