import { chmodSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "./endings.ts";
import { type Environment, Program } from "./program.ts";

/** The whole service under its supervisor, on a state folder of its own. */
export class Service {
  readonly url: string;
  readonly folder: string;
  readonly supervisor: Program;

  private constructor(url: string, folder: string, supervisor: Program) {
    this.url = url;
    this.folder = folder;
    this.supervisor = supervisor;
  }

  static async start(env: Environment = {}): Promise<Service> {
    const folder = tempFolder();
    const scratch = scratchOf(folder);
    mkdirSync(scratch);
    chmodSync(scratch, 0o711);
    const supervisor = new Program(["scripts/start.ts"], {
      SVC_PORT: "0",
      // Machines of their own accord would take the processor from what is measured.
      SVC_WARM_VM: "0",
      SVC_WARM_DESKTOP: "0",
      SVC_BUILD_IMAGES: "0",
      SVC_STATE_DIR: stateDirOf(folder),
      SVC_LOG_LEVEL: "warn",
      TMPDIR: scratch,
      ...env,
    });
    const url = await supervisor.says(/^ready (http\S+)$/m);
    return new Service(url, folder, supervisor);
  }

  get stateDir(): string {
    return stateDirOf(this.folder);
  }

  /** Where the pool keeps the folders of its slots. */
  get scratch(): string {
    return scratchOf(this.folder);
  }

  get key(): string {
    return this.#read("dev.key");
  }

  get adminToken(): string {
    return this.#read("admin.token");
  }

  stop(): Promise<void> {
    return this.supervisor.stop();
  }

  #read(name: string): string {
    return readFileSync(join(this.stateDir, name), "utf8").trim();
  }
}

const stateDirOf = (folder: string): string => join(folder, "state");
// Short: the path of a unix socket may have 107 bytes.
const scratchOf = (folder: string): string => join(folder, "t");
