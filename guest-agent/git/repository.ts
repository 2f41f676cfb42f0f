import type { GIT_METHODS, GitCredentials } from "@svc/contract/control-channel/git-methods.ts";
import type * as z from "zod";
import type { Commands } from "../commands/commands.ts";
import { type GitCall, git } from "./git.ts";
import { parseLog, LOG_FORMAT } from "./log.ts";
import { parseStatus } from "./status.ts";

type Asked<Name extends keyof typeof GIT_METHODS> = z.output<(typeof GIT_METHODS)[Name]["params"]>;

/** One request on one repository. */
export class Repository {
  readonly #commands: Commands;
  readonly #at: { path: string; timeoutMs?: number };
  readonly #signal: AbortSignal;

  constructor(commands: Commands, at: { path: string; timeoutMs?: number }, signal: AbortSignal) {
    this.#commands = commands;
    this.#at = at;
    this.#signal = signal;
  }

  async status() {
    return parseStatus(await this.#git(["status", "--porcelain=v2", "--branch", "-z"]));
  }

  async add({ files }: Asked<"git.add">): Promise<void> {
    await this.#git(files ? ["add", "--", ...files] : ["add", "--all"]);
  }

  async commit({ message, author, allowEmpty }: Asked<"git.commit">) {
    const args = ["commit", "--quiet", "-m", message, ...(allowEmpty ? ["--allow-empty"] : [])];
    await this.#git(args, { env: author ? identityOf(author) : {} });
    return { commit: await this.#head() };
  }

  async checkout({ ref, create }: Asked<"git.checkout">) {
    await this.#git(["checkout", "--quiet", ...(create ? ["-b"] : []), ref]);
    return this.#place();
  }

  async branches() {
    const args = ["for-each-ref", "--format=%(refname:short)", "refs/heads"];
    const branches = (await this.#git(args)).split("\n").filter(Boolean);
    return { current: await this.#branch(), branches };
  }

  async log({ ref = "HEAD", limit }: Asked<"git.log">) {
    const args = ["log", `--max-count=${limit}`, `--format=${LOG_FORMAT}`, ref, "--"];
    return { commits: parseLog(await this.#git(args)) };
  }

  async clone({ url, path, branch, depth, credentials }: Asked<"git.clone">) {
    const options = [
      ...(branch === undefined ? [] : ["--branch", branch]),
      ...(depth === undefined ? [] : ["--depth", String(depth)]),
    ];
    const auth = credentials && { url, credentials };
    const args = ["clone", "--quiet", ...options, "--", url, path];
    // The folder does not exist yet: git begins where commands do.
    await git(this.#commands, args, { ...this.#limits, auth });
    return { path, ...(await this.#place()) };
  }

  async push({ remote, branch, credentials }: Asked<"git.push">) {
    const name = branch ?? (await this.#branch()) ?? "HEAD";
    const auth = await this.#auth(remote, credentials);
    await this.#git(["push", "--quiet", "--set-upstream", remote, name], { auth });
    return { remote, branch: name };
  }

  async pull({ remote, branch, credentials }: Asked<"git.pull">) {
    const before = await this.#head().catch(() => "");
    const auth = await this.#auth(remote, credentials);
    const name = branch ?? (await this.#branch()) ?? "HEAD";
    await this.#git(["pull", "--quiet", "--no-rebase", "--no-edit", remote, name], { auth });
    const commit = await this.#head();
    return { commit, changed: commit !== before };
  }

  get #limits() {
    return { signal: this.#signal, timeoutMs: this.#at.timeoutMs };
  }

  #git(args: string[], more: Partial<GitCall> = {}): Promise<string> {
    return git(this.#commands, args, { ...this.#limits, cwd: this.#at.path, ...more });
  }

  async #auth(remote: string, credentials: GitCredentials | undefined): Promise<GitCall["auth"]> {
    if (!credentials) return undefined;
    const url = await this.#git(["remote", "get-url", "--", remote]);
    return { url: url.trim(), credentials };
  }

  async #head(): Promise<string> {
    return (await this.#git(["rev-parse", "HEAD"])).trim();
  }

  async #branch(): Promise<string | null> {
    return (await this.#git(["branch", "--show-current"])).trim() || null;
  }

  async #place() {
    // A clone of nothing has no commit yet.
    return { branch: await this.#branch(), commit: await this.#head().catch(() => "") };
  }
}

function identityOf({ name, email }: { name: string; email: string }): Record<string, string> {
  return {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
  };
}
