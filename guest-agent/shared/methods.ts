import { SHARE_METHODS } from "@svc/contract/control-channel/share-methods.ts";
import type { Method } from "@svc/contract/control-channel/rpc-server.ts";
import { method } from "@svc/contract/control-channel/method.ts";
import { Shares } from "./shares.ts";

/** The namespace `shares`: the host's alone. */
export function shareMethods(shares = new Shares()): Record<string, Method> {
  return {
    "shares.make": method(SHARE_METHODS["shares.make"], async (spec) => {
      await shares.make(spec);
      return {};
    }),
    "shares.dial": method(SHARE_METHODS["shares.dial"], ({ id, port }, context) =>
      shares.get(id).dial(port, context),
    ),
    "shares.read": method(SHARE_METHODS["shares.read"], ({ id }) => shares.get(id).read()),
    "shares.freeze": method(SHARE_METHODS["shares.freeze"], async ({ id, isFrozen }) => {
      await shares.get(id).freeze(isFrozen);
      return {};
    }),
    "shares.keep": method(SHARE_METHODS["shares.keep"], async ({ ids }) => {
      await shares.keep(ids);
      return {};
    }),
    "shares.end": method(SHARE_METHODS["shares.end"], async ({ id }) => {
      await shares.end(id);
      return {};
    }),
  };
}
