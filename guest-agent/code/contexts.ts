import { CONTEXTS_MAX, type Language } from "@svc/contract/control-channel/code-methods.ts";
import { refuse } from "@svc/contract/control-channel/refusals.ts";
import { RPC_CODES, RpcError } from "@svc/contract/control-channel/rpc-error.ts";
import type { Commands } from "../commands/commands.ts";
import { Context } from "./context.ts";
import type { Cell } from "./run.ts";
import { Spare } from "./spare.ts";

const USUAL: Language = "python";

/** What a client says about a context. */
export interface Wanted {
  context?: string | undefined;
  language?: Language | undefined;
  place: Omit<Cell, "code">;
}

/** The contexts of a machine, for all its customers' connections alike. */
export class Contexts {
  readonly spare: Spare;
  readonly #commands: Commands;
  readonly #contexts = new Map<string, Context>();

  constructor(commands: Commands) {
    this.#commands = commands;
    this.spare = new Spare(commands);
  }

  get all(): Context[] {
    return [...this.#contexts.values()];
  }

  /** A context that is there. */
  get(name: string): Context {
    const context = this.#contexts.get(name);
    if (!context) throw refuse("NotFound", `There is no context ${name}.`);
    return context;
  }

  /** A context, made if it is not there. One without a name is the default one of its language. */
  find({ context, language, place }: Wanted): Context {
    const name = context ?? DEFAULT_NAMES[language ?? USUAL];
    const found = this.#contexts.get(name);
    if (!found) return this.#make(name, language ?? USUAL, place);
    if (language !== undefined && found.language !== language) throw otherLanguage(found);
    return found;
  }

  /** A new context. */
  create(name: string, { language = USUAL, place }: Omit<Wanted, "context">): Context {
    if (this.#contexts.has(name))
      throw refuse("AlreadyExists", `There is a context ${name} already. Remove or restart it.`);
    return this.#make(name, language, place);
  }

  async remove(name: string): Promise<void> {
    const context = this.get(name);
    this.#contexts.delete(name);
    await context.remove();
  }

  #make(name: string, language: Language, place: Omit<Cell, "code">): Context {
    if (this.#contexts.size >= CONTEXTS_MAX)
      throw refuse("Busy", `There are ${CONTEXTS_MAX} contexts. Remove one: code.remove.`);
    const context = new Context(
      { commands: this.#commands, spare: this.spare },
      name,
      language,
      place,
    );
    this.#contexts.set(name, context);
    return context;
  }
}

/** The contexts of runs that name none. */
const DEFAULT_NAMES: Record<Language, string> = {
  python: "default",
  javascript: "default-javascript",
  bash: "default-bash",
};

function otherLanguage({ name, language }: Context): RpcError {
  const message = `The context ${name} is one of ${language}. Name another context.`;
  return new RpcError(RPC_CODES.params, `language: ${message}`, { field: "language" });
}
