import type { Params } from "@svc/contract/control-channel/method-types.ts";
import type { CallOptions } from "../http/deadline.ts";
import type { Channel } from "./channel.ts";
import { type Answer, asking, type Rest } from "./namespace.ts";

/** Credentials of one call: never stored, neither here nor in the machine. */
export type GitCredentials = NonNullable<Params<"git.clone">["credentials"]>;

/** Git in a machine. `ControlError` with `GitAuthFailed`, `GitConflict` or `GitFailed` and git's own words. No limit unless `timeoutMs` says one. */
export interface Git {
  /** Clones a repository into `path`. */
  clone(
    url: string,
    path: string,
    wanted?: Rest<"git.clone", "url" | "path">,
    options?: CallOptions,
  ): Answer<"git.clone">;
  /** The branch, how far it is from its upstream, and what has changed. */
  status(path: string, options?: CallOptions): Answer<"git.status">;
  /** Adds `files` to the index, or all changes. */
  add(path: string, files?: string[], options?: CallOptions): Answer<"git.add">;
  /** Commits the index. */
  commit(
    path: string,
    message: string,
    wanted?: Rest<"git.commit", "path" | "message">,
    options?: CallOptions,
  ): Answer<"git.commit">;
  /** Pushes to a remote, `origin` unless said. */
  push(path: string, wanted?: Rest<"git.push", "path">, options?: CallOptions): Answer<"git.push">;
  /** Pulls from a remote, `origin` unless said. */
  pull(path: string, wanted?: Rest<"git.pull", "path">, options?: CallOptions): Answer<"git.pull">;
  /** Checks out a branch or a commit; with `create` a new branch. */
  checkout(
    path: string,
    ref: string,
    wanted?: Rest<"git.checkout", "path" | "ref">,
    options?: CallOptions,
  ): Answer<"git.checkout">;
  /** The branches, and the one that is checked out. */
  branches(path: string, options?: CallOptions): Answer<"git.branches">;
  /** Commits, newest first, 50 unless `limit` says otherwise. */
  log(path: string, wanted?: Rest<"git.log", "path">, options?: CallOptions): Answer<"git.log">;
}

/** Git of one machine. */
export const gitOf = (channel: Channel): Git =>
  asking<Git>(
    channel,
    "git",
    {
      clone: "url path *",
      status: "path",
      add: "path files",
      commit: "path message *",
      push: "path *",
      pull: "path *",
      checkout: "path ref *",
      branches: "path",
      log: "path *",
    },
    { timeoutMs: Infinity },
  );
