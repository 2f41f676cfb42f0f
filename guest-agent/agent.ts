import { HOST_METHODS } from "@svc/contract/control-channel/host-methods.ts";
import type { Identity } from "@svc/contract/control-channel/identity.ts";
import { Link } from "@svc/contract/control-channel/link.ts";
import type { Transport } from "@svc/contract/control-channel/wire.ts";
import { METHODS } from "@svc/contract/control-channel/methods.ts";
import type { Method } from "@svc/contract/control-channel/rpc-server.ts";
import { FIRST_SYNC_WORD } from "@svc/contract/control-channel/sync-word.ts";
import { Reception } from "./channel/connection.ts";
import { codeMethods } from "./code/methods.ts";
import { commandMethods } from "./commands/methods.ts";
import type { Commands } from "./commands/commands.ts";
import { DESKTOP_ENV } from "./commands/environment.ts";
import type { Defaults } from "./commands/user.ts";
import { fileMethods } from "./files/methods.ts";
import { gitMethods } from "./git/methods.ts";
import { Gate } from "./identity/gate.ts";
import { assume } from "./identity/machine.ts";
import type { IdentityMemory } from "./identity/memory.ts";
import type { Launcher } from "./launcher/launcher.ts";
import { method } from "@svc/contract/control-channel/method.ts";
import { metricsMethod } from "./metrics.ts";
import { dialMethod } from "./ports/dial.ts";
import { ptyMethods } from "./pty/methods.ts";
import { Terminals } from "./pty/terminals.ts";
import { volumeMethods } from "./volumes/methods.ts";
import { shareMethods } from "./shared/methods.ts";

export interface AgentParts {
  launcher: Launcher;
  memory: IdentityMemory;
  root: string;
  /** It serves a share: clock, name and random pool are its machine's, and it has no shares of its own. */
  isShare: boolean;
  /** Made with the session's environment, which is read at every start of a command. */
  commands: (session: () => Readonly<Record<string, string>>, defaults: () => Defaults) => Commands;
}

/** What answers the host and its customers, on both ports. */
export class Agent {
  readonly commands: Commands;
  readonly #parts: AgentParts;
  readonly #gate = new Gate();
  readonly #links: Link[] = [];
  readonly #reception: Reception;
  #word: Uint8Array = FIRST_SYNC_WORD;

  constructor(parts: AgentParts) {
    this.#parts = parts;
    this.commands = parts.commands(
      () => sessionOf(this.#gate.identity),
      () => this.#gate.identity ?? {},
    );
    const { "commands.exec": exec, ...customer } = commandMethods(this.commands);
    const { "code.warm": warm, ...code } = codeMethods(this.commands);
    this.#reception = new Reception(this.#gate, {
      customer: {
        "rpc.ping": pingMethod(),
        ...customer,
        ...code,
        ...fileMethods(),
        ...gitMethods(this.commands),
        ...ptyMethods(new Terminals(this.commands, parts.launcher)),
      },
      host: {
        ...(exec && { "commands.exec": exec }),
        ...(warm && { "code.warm": warm }),
        "clock.set": method(HOST_METHODS["clock.set"], async ({ nowMs }) => {
          if (!parts.isShare) await parts.launcher.setClock(nowMs);
          return {};
        }),
        "metrics.read": metricsMethod(),
        "ports.dial": dialMethod(),
        ...volumeMethods(),
        ...(!parts.isShare && shareMethods()),
      },
      first: { "rpc.ping": pingMethod(), "identity.set": this.#identityMethod() },
    });
  }

  /** Takes up the identity that an agent before this one was given in the same life. */
  async recall(): Promise<void> {
    const identity = await this.#parts.memory.recall();
    if (identity) this.#assumed(identity);
  }

  /**
   * A port to serve. A call of the host on the control port begins a life of the machine: the other port falls silent
   * until the host, which knows its word by the identity step only, calls it too.
   */
  join(transport: Transport, isControl: boolean): Link {
    const link: Link = new Link({
      transport,
      word: this.#word,
      isGuest: true,
      accept: (connection, wire) => this.#reception.accept(connection, wire),
      onCalled: () => {
        if (isControl) this.#newLife(link);
      },
    });
    this.#links.push(link);
    // Started again in the same life: the host hears that everything under way is lost.
    if (this.#gate.identity) link.sync();
    return link;
  }

  #newLife(control: Link): void {
    this.#gate.close();
    for (const link of this.#links)
      if (link !== control) link.closed("a new life of the machine began");
  }

  #identityMethod(): Method {
    return method(HOST_METHODS["identity.set"], async (identity) => {
      const { memory } = this.#parts;
      const done = await assume(identity, this.#gate.last, this.#parts);
      memory.keep(identity);
      this.#assumed(identity);
      return done;
    });
  }

  #assumed(identity: Identity): void {
    this.#word = Buffer.from(identity.nextSyncWord, "hex");
    for (const link of this.#links) link.useWord(this.#word);
    this.#gate.open(identity);
  }
}

function sessionOf(identity: Identity | null): Readonly<Record<string, string>> {
  if (!identity) return {};
  return identity.kind === "desktop" ? { ...DESKTOP_ENV, ...identity.envs } : identity.envs;
}

function pingMethod(): Method {
  return method(METHODS["rpc.ping"], async () => ({}));
}
