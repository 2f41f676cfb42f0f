import { openMap } from "../open-map.ts";
import * as z from "zod";
import { LIMITS } from "../limits.ts";
import { STORAGE_STATE_TEXT, StorageState } from "./storage-state.ts";

/** A stored profile. `id` and `name` are what clients may rely on (document 1, Profile). */
export const Profile = z.object({
  id: z.string(),
  name: z.string(),
  /** 0 until the first save. */
  version: z.int().nonnegative(),
  sizeBytes: z.int().nullable(),
  createdAt: z.iso.datetime(),
  savedAt: z.iso.datetime().nullable(),
});
export type Profile = z.infer<typeof Profile>;

/** 200 of GET /profiles: a bare array. */
export const ProfileList = z.array(Profile);

/** POST /profiles. */
export const CreateProfile = z.object({ name: z.string().trim().min(1).max(200) });

/** A state that a browser can load. Kept as it came: the schema only judges it. */
const LoadableState = openMap(z.string(), z.unknown(), {
  description: STORAGE_STATE_TEXT,
}).superRefine((state, issues) => {
  const [first] = StorageState.safeParse(state).error?.issues ?? [];
  if (first) issues.addIssue({ code: "custom", path: first.path, message: first.message });
});

/** What the holder of the editor's lock shows: it alone may save. */
const lease = z.string().min(1).max(100).exactOptional().meta({
  description: "The lease of POST /profiles/:id/lock, of whoever holds it.",
});

/** POST /profiles/:id/save. */
export const SaveProfile = z.object({ storageState: LoadableState, lease });

/** 200 of POST /profiles/:id/save. */
export const ProfileSaved = z.object({
  profileId: z.string(),
  version: z.int().positive(),
  storageStateS3Key: z.string(),
  sizeBytes: z.int(),
});
export type ProfileSaved = z.infer<typeof ProfileSaved>;

/** `storageStateUrl` of the 201: `url` is null while the profile was never saved. */
export const StorageStateUrl = z.object({
  url: z.string().nullable(),
  expiresInSeconds: z.int().positive(),
});
export type StorageStateUrl = z.infer<typeof StorageStateUrl>;

/** POST /sessions/:id/save-profile (decision). Neither: the profile that the session began with. */
export const SaveSessionProfile = z
  .object({
    profileId: z.string().min(1).exactOptional(),
    /** Of a profile of the org; a new one is made when there is none. */
    name: CreateProfile.shape.name.exactOptional(),
    lease,
  })
  .refine(({ profileId, name }) => profileId === undefined || name === undefined, {
    error: "either profileId or name",
    path: ["name"],
  });

/** 200 of POST /sessions/:id/save-profile. */
export const SessionProfileSaved = ProfileSaved.extend({
  /** Cookies, origins and entries that no state can tell, and that are not kept. */
  lost: z.int().nonnegative(),
});
export type SessionProfileSaved = z.infer<typeof SessionProfileSaved>;

/** A version of a profile that is kept. */
export const ProfileVersion = z.object({
  version: z.int().positive(),
  sizeBytes: z.int().nonnegative(),
  savedAt: z.iso.datetime(),
  isCurrent: z.boolean(),
});
export type ProfileVersion = z.infer<typeof ProfileVersion>;

/** 200 of GET /profiles/:id/versions: newest first. */
export const ProfileVersions = z.object({ versions: z.array(ProfileVersion) });
export type ProfileVersions = z.infer<typeof ProfileVersions>;

/** POST /profiles/:id/restore: an older version becomes the next one. */
export const RestoreProfile = z.object({ version: z.int().positive(), lease });

/** POST /profiles/:id/lock: holds a profile for an editor, or renews that. */
export const LockProfile = z.object({
  idleSeconds: z.int().min(1).max(LIMITS.editorIdleMaxSeconds).default(LIMITS.editorIdleSeconds),
  lease,
});

/** 200 of POST /profiles/:id/lock: until when the lease holds unless it is renewed before. */
export const ProfileLock = z.object({
  lease: z.string(),
  idleSeconds: z.int(),
  leaseExpiresAt: z.iso.datetime(),
});
export type ProfileLock = z.infer<typeof ProfileLock>;

/** DELETE /profiles/:id/lock. */
export const UnlockProfile = z.object({ lease: z.string().min(1).max(100) });
