import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { LoginKeys, Secret, SECRET_FAULT } from "@svc/contract/secrets.ts";
import { readSettings } from "@svc/host-kit/settings.ts";
import { takeLock } from "../../host-kit/lock.ts";
import { START_SETTINGS } from "./settings.ts";

export interface Secrets {
  SVC_ADMIN_TOKEN: string;
  SVC_HOST_TOKEN: string;
  SVC_SIGNING_SECRET: string;
  SVC_LOGIN_KEY: string;
}

/** The folder that holds everything which outlives a start. One start at a time owns it. */
export class StateDir {
  readonly path: string;
  readonly secrets: Secrets;

  private constructor(path: string) {
    this.path = path;
    const settings = readSettings(START_SETTINGS, process.env);
    const { adminToken, hostToken, signingSecret, loginKey } = settings;
    this.secrets = {
      SVC_ADMIN_TOKEN: adminToken ?? this.#secret("admin.token"),
      SVC_HOST_TOKEN: hostToken ?? this.#secret("host.token"),
      SVC_SIGNING_SECRET: signingSecret ?? this.#secret("signing.secret"),
      SVC_LOGIN_KEY: loginKey ?? this.#loginKey("login.key"),
    };
    this.write("admin.token", this.secrets.SVC_ADMIN_TOKEN);
  }

  /** Refuses when another process owns the folder. It is this one's until it ends. */
  static open(path = START_SETTINGS.stateDir.read(process.env.SVC_STATE_DIR)): StateDir {
    const dir = resolve(path);
    if (!takeLock(join(dir, "start.lock")))
      throw new Error(`another svc runs on ${dir}: end it, or set SVC_STATE_DIR`);
    return new StateDir(dir);
  }

  read(name: string): string | undefined {
    try {
      return readFileSync(join(this.path, name), "utf8").trim() || undefined;
    } catch {
      return undefined;
    }
  }

  /** Written whole or not at all, readable by this user only. */
  write(name: string, text: string): void {
    const file = join(this.path, name);
    writeFileSync(`${file}.new`, `${text}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }

  /** An empty folder for what a killed child leaves behind. */
  scratch(): string {
    const folder = join(this.path, "tmp");
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { mode: 0o700 });
    return folder;
  }

  #secret(name: string): string {
    const secret = this.read(name) ?? randomBytes(32).toString("base64url");
    if (!Secret.safeParse(secret).success)
      throw new Error(`${join(this.path, name)} ${SECRET_FAULT} Or remove it: a new one is made.`);
    this.write(name, secret);
    return secret;
  }

  #loginKey(name: string): string {
    const key = this.read(name) ?? randomBytes(32).toString("base64");
    if (!LoginKeys.safeParse(key).success)
      throw new Error(
        `${join(this.path, name)} is no key of 32 bytes in base64. Or remove it: a new one is made, and saved logins are lost.`,
      );
    this.write(name, key);
    return key;
  }
}
