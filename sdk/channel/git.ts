import type { CallOptions } from "../http/deadline.ts";
import type { MethodName, Params, Result } from "@svc/contract/control-channel/method-types.ts";
import type { Channel } from "./channel.ts";

/** Credentials of one call: never stored, neither here nor in the machine. */
export type GitCredentials = NonNullable<Params<"git.clone">["credentials"]>;

type Rest<Name extends MethodName, Named extends string> = Omit<Params<Name>, Named | "timeoutMs">;

/** Git in a machine. `ControlError` with `GitAuthFailed`, `GitConflict` or `GitFailed` and git's own words. */
export class Git {
  readonly #channel: Channel;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /** Clones a repository into `path`. */
  clone(
    url: string,
    path: string,
    wanted: Rest<"git.clone", "url" | "path"> = {},
    options: CallOptions = {},
  ): Promise<Result<"git.clone">> {
    return this.#channel.ask(
      "git.clone",
      { url, path, ...wanted },
      { timeoutMs: Infinity, ...options },
    );
  }

  /** The branch, how far it is from its upstream, and what has changed. */
  status(path: string, options: CallOptions = {}): Promise<Result<"git.status">> {
    return this.#channel.ask("git.status", { path }, options);
  }

  /** Adds files to the index, or all changes. */
  async add(path: string, files?: string[], options: CallOptions = {}): Promise<void> {
    await this.#channel.ask("git.add", { path, files }, options);
  }

  /** Commits the index; answers the commit. */
  commit(
    path: string,
    message: string,
    wanted: Rest<"git.commit", "path" | "message"> = {},
    options: CallOptions = {},
  ): Promise<Result<"git.commit">> {
    return this.#channel.ask("git.commit", { path, message, ...wanted }, options);
  }

  /** Pushes to a remote, `origin` unless said. */
  push(
    path: string,
    wanted: Rest<"git.push", "path"> = {},
    options: CallOptions = {},
  ): Promise<Result<"git.push">> {
    return this.#channel.ask("git.push", { path, ...wanted }, { timeoutMs: Infinity, ...options });
  }

  /** Pulls from a remote, `origin` unless said. */
  pull(
    path: string,
    wanted: Rest<"git.pull", "path"> = {},
    options: CallOptions = {},
  ): Promise<Result<"git.pull">> {
    return this.#channel.ask("git.pull", { path, ...wanted }, { timeoutMs: Infinity, ...options });
  }

  /** Checks out a branch or a commit; with `create` a new branch. */
  checkout(
    path: string,
    ref: string,
    { create, ...options }: CallOptions & { create?: boolean } = {},
  ): Promise<Result<"git.checkout">> {
    return this.#channel.ask("git.checkout", { path, ref, create }, options);
  }

  /** The branches, and the one that is checked out. */
  branches(path: string, options: CallOptions = {}): Promise<Result<"git.branches">> {
    return this.#channel.ask("git.branches", { path }, options);
  }

  /** Commits, newest first, 50 unless `limit` says otherwise. */
  async log(
    path: string,
    wanted: Rest<"git.log", "path"> = {},
    options: CallOptions = {},
  ): Promise<Result<"git.log">["commits"]> {
    const asked = { path, ...wanted };
    return (await this.#channel.ask("git.log", asked, options)).commits;
  }
}
