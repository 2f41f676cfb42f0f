import { openMap } from "../open-map.ts";
import * as z from "zod";
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

/** POST /profiles/:id/save. */
export const SaveProfile = z.object({ storageState: LoadableState });

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
