import {
  CreateProfile,
  Profile,
  ProfileList,
  ProfileSaved,
  SaveProfile,
} from "../browser/profile.ts";
import { LIMITS } from "../limits.ts";
import type { Operation } from "./operation.ts";

const bodyBytes = LIMITS.requestBodyBytes;

/** Document 1, Endpoints: profiles. */
export const PROFILES = {
  listProfiles: {
    method: "GET",
    path: "/profiles",
    summary: "List the profiles of the org: a bare array.",
    auth: "key",
    bodyBytes,
    success: { status: 200, body: ProfileList },
    errors: ["ControlPlaneUnavailable"],
  },
  createProfile: {
    method: "POST",
    path: "/profiles",
    summary: "Create an empty profile.",
    auth: "key",
    bodyBytes,
    request: CreateProfile,
    success: { status: 201, body: Profile },
    errors: ["InvalidJson", "ValidationError", "PlanLimitExceeded", "ControlPlaneUnavailable"],
  },
  deleteProfile: {
    method: "DELETE",
    path: "/profiles/:id",
    summary: "Delete a profile.",
    auth: "key",
    bodyBytes,
    success: { status: 204, body: null },
    errors: ["ProfileNotFound", "ProfileLocked", "ControlPlaneUnavailable"],
  },
  saveProfile: {
    method: "POST",
    path: "/profiles/:id/save",
    summary: `Store a storage state as the next version of a profile: cookies, and up to ${LIMITS.profileOrigins} origins with localStorage, indexedDB and opfs. A state that no browser can load is refused with its field.`,
    auth: "key",
    bodyBytes: LIMITS.profileSaveBodyBytes,
    request: SaveProfile,
    success: { status: 200, body: ProfileSaved },
    errors: [
      "InvalidJson",
      "ValidationError",
      "ProfileNotFound",
      "ProfileLocked",
      "ProfileVersionConflict",
      "ControlPlaneUnavailable",
    ],
  },
} as const satisfies Record<string, Operation>;
