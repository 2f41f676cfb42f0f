import type { MethodName, Params, Result } from "@svc/contract/control-channel/method-types.ts";
import type { CallOptions } from "../http/deadline.ts";
import type { Channel } from "./channel.ts";

/** Parameters of a method without those that came by position. */
export type Rest<Name extends MethodName, Named extends string = never> = Omit<
  Params<Name>,
  Named | "timeoutMs"
>;

/** Calls a method of a namespace with what it was given. */
type Ask = (...given: unknown[]) => Promise<unknown>;

/**
 * The methods of a namespace that do nothing but ask. Of each the table has the parameters that come by position, and a `*`
 * when an object with the others may follow; the options of the call come last.
 */
export function asking<Methods>(
  channel: Channel,
  namespace: string,
  table: Readonly<Record<keyof Methods, string>>,
  defaults: CallOptions = {},
): Methods {
  const entries = Object.entries<string>(table).map(([name, words]) => {
    const names = words.split(" ").filter((word) => word !== "");
    const ask: Ask = (...given) => {
      const params: Record<string, unknown> = {};
      let at = 0;
      for (const word of names)
        if (word === "*") Object.assign(params, given[at++]);
        else params[word] = given[at++];
      const options = { ...defaults, ...(given[at] as CallOptions | undefined) };
      return channel.ask(`${namespace}.${name}` as MethodName, params as never, options);
    };
    return [name, ask];
  });
  return Object.fromEntries(entries) as Methods;
}

/** The answer to a method of the channel. */
export type Answer<Name extends MethodName> = Promise<Result<Name>>;
