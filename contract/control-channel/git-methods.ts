import * as z from "zod";
import { GuestPath } from "./file-methods.ts";

const timeoutMs = z.number().positive().exactOptional();
const ok = z.object({ ok: z.literal(true) });

// A name that begins with a dash would be read as an option.
const name = z
  .string()
  .min(1)
  .max(1_000)
  .regex(/^[^-\0][^\0]*$/, "begins with a dash");
const text = z
  .string()
  .min(1)
  .regex(/^[^\0]*$/, "has a NUL character");

/** Credentials of one call: never written to a repository, a configuration or a process list. */
export const GitCredentials = z.object({ username: z.string().min(1), password: z.string() });
export type GitCredentials = z.infer<typeof GitCredentials>;

/** How a path has changed, in the index or in the working tree. */
export const GitChange = z.enum([
  "unmodified",
  "modified",
  "typechange",
  "added",
  "deleted",
  "renamed",
  "copied",
  "unmerged",
  "untracked",
]);
export type GitChange = z.infer<typeof GitChange>;

/** Result of `git.status`. */
export const GitStatus = z.object({
  /** Null when no branch is checked out. */
  branch: z.string().nullable(),
  upstream: z.string().exactOptional(),
  ahead: z.int(),
  behind: z.int(),
  clean: z.boolean(),
  files: z.array(
    z.object({
      path: z.string(),
      index: GitChange,
      worktree: GitChange,
      /** Where it was renamed or copied from. */
      from: z.string().exactOptional(),
    }),
  ),
});
export type GitStatus = z.infer<typeof GitStatus>;

const at = { path: GuestPath, timeoutMs };
const remote = {
  ...at,
  remote: name.default("origin"),
  branch: name.exactOptional(),
  credentials: GitCredentials.exactOptional(),
};
const place = z.object({ branch: z.string().nullable(), commit: z.string() });

/** The namespace `git` (control-channel.md, Methods). Refusals: GitAuthFailed, GitConflict, GitFailed. */
export const GIT_METHODS = {
  "git.clone": {
    params: z.object({
      ...at,
      url: name,
      branch: name.exactOptional(),
      depth: z.int().positive().exactOptional(),
      credentials: GitCredentials.exactOptional(),
    }),
    result: place.extend({ path: z.string() }),
  },
  "git.status": { params: z.object(at), result: GitStatus },
  /** Adds all changes, unless files are named. */
  "git.add": { params: z.object({ ...at, files: z.array(text).exactOptional() }), result: ok },
  "git.commit": {
    params: z.object({
      ...at,
      message: text,
      author: z.object({ name: text, email: text }).exactOptional(),
      allowEmpty: z.boolean().default(false),
    }),
    result: z.object({ commit: z.string() }),
  },
  "git.push": {
    params: z.object(remote),
    result: z.object({ remote: z.string(), branch: z.string() }),
  },
  "git.pull": {
    params: z.object(remote),
    result: z.object({ commit: z.string(), changed: z.boolean() }),
  },
  "git.checkout": {
    params: z.object({ ...at, ref: name, create: z.boolean().default(false) }),
    result: place,
  },
  "git.branches": {
    params: z.object(at),
    result: z.object({ current: z.string().nullable(), branches: z.array(z.string()) }),
  },
  "git.log": {
    params: z.object({
      ...at,
      ref: name.exactOptional(),
      limit: z.int().min(1).max(1_000).default(50),
    }),
    result: z.object({
      commits: z.array(
        z.object({
          commit: z.string(),
          author: z.object({ name: z.string(), email: z.string() }),
          date: z.string(),
          message: z.string(),
        }),
      ),
    }),
  },
} as const;
