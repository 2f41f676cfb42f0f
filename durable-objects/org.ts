import { DurableObject } from "cloudflare:workers";
import { OrgBuilds } from "./org/builds.ts";
import type {
  BuildClaim,
  Ending,
  KeptMachines,
  Reserved,
  SandboxClaim,
  SandboxPage,
  SandboxQuery,
  SandboxReserved,
  SandboxView,
  SessionClaim,
  SessionHold,
  SessionLine,
  SessionPage,
  SessionQuery,
} from "./org/messages.ts";
import { OrgSandboxes } from "./org/sandboxes.ts";
import { OrgSessions } from "./org/sessions.ts";

/**
 * Reservations of one org against its plan, and the indices behind its lists. A row counts against a cap from its
 * reservation until its end; the object is single-threaded, so that for a cap N exactly N of any number of concurrent
 * creates pass.
 */
export class OrgDO extends DurableObject<Env> {
  readonly #sessions = new OrgSessions(this.ctx.storage.sql);
  readonly #sandboxes = new OrgSandboxes(this.ctx.storage.sql);
  readonly #builds = new OrgBuilds(this.ctx.storage.sql);

  reserve(claim: SessionClaim): Reserved {
    return this.#sessions.reserve(claim);
  }

  /** Keeps the reservation of a session that has its slot. */
  keep(hold: SessionHold): void {
    this.#sessions.keep(hold);
  }

  /** Frees the reservation of a session that ended. */
  end(hold: SessionHold, ending: Ending): void {
    this.#sessions.end(hold, ending);
  }

  /** A session as the org's list has it; null when it is not there. */
  session(id: string): SessionLine | null {
    return this.#sessions.line(id);
  }

  /** Frees the reservation of a session whose create failed. */
  drop(id: string): void {
    this.#sessions.drop(id);
  }

  sessions(query: SessionQuery): SessionPage {
    return this.#sessions.page(query);
  }

  reserveSandbox(claim: SandboxClaim): SandboxReserved {
    return this.#sandboxes.reserve(claim);
  }

  resumeSandbox(id: string, claim: Pick<SandboxClaim, "cap" | "kept">): SandboxReserved {
    return this.#sandboxes.resume(id, claim);
  }

  /** The machines that the org keeps, and the bytes of their records. */
  kept(): KeptMachines {
    return this.#sandboxes.kept();
  }

  /** Writes the state of a sandbox; false when its claim has lapsed, or it is gone already. */
  noteSandbox(view: SandboxView): boolean {
    return this.#sandboxes.note(view);
  }

  dropSandbox(id: string): void {
    this.#sandboxes.drop(id);
  }

  sandboxes(query: SandboxQuery): SandboxPage {
    return this.#sandboxes.page(query);
  }

  /** The ids of all sandboxes that are not gone. */
  liveSandboxes(): string[] {
    return this.#sandboxes.live();
  }

  reserveBuild(claim: BuildClaim): Reserved {
    return this.#builds.reserve(claim);
  }

  dropBuild(id: string): void {
    this.#builds.drop(id);
  }
}
