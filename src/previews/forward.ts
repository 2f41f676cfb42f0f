import { ApiError } from "@svc/contract/errors.ts";
import { ANSWER_HEADER } from "@svc/contract/host-protocol/ports.ts";
import { logOf } from "@svc/contract/log.ts";
import { hostBearer, hostUrl } from "../../durable-objects/host-calls/slots.ts";
import { clientGone } from "../client-gone.ts";
import { passOn } from "../pass-on.ts";
import type { Located } from "../../durable-objects/sandbox/locate.ts";
import { withoutToken } from "./credentials.ts";
import { headersForClient, headersForGuest } from "./headers.ts";

const log = logOf("src");
const WITHOUT_BODY = [101, 204, 205, 304];
const WITHOUT = { body: null, signal: null };

/** A port of a sandbox at its host. */
export interface PortAtHost extends Located {
  id: string;
  port: number;
}

/** Hands a request to the server inside and its answer to the client, with a cookie of ours if there is one. */
export async function forward(
  request: Request,
  env: Env,
  to: PortAtHost,
  cookie: string | null,
): Promise<Response> {
  const headers = headersForGuest(request);
  headers.set("authorization", `Bearer ${await hostBearer(env, to)}`);
  const isUpgrade = request.headers.get("upgrade")?.toLowerCase() === "websocket";
  if (isUpgrade) headers.set("upgrade", "websocket");
  const { method } = request;
  // The runtime sends no body with these, and takes offence at an empty one.
  const isBare = method === "GET" || method === "HEAD";
  const { body, signal } = isBare ? WITHOUT : passOn(request);
  const init = { method, headers, body, signal, redirect: "manual" } as const;
  const answer = await fetch(targetOf(request, to), { ...init, cache: "no-store" }).catch(
    (error: unknown) => {
      if (signal?.aborted) throw clientGone(error);
      log.warn("host_call_failed", { call: "/vms/:id/ports/:port", reason: error });
      throw unreachable();
    },
  );
  const isGuests = answer.headers.get(ANSWER_HEADER) === "guest";
  if (!isGuests && answer.status !== 101) return refused(answer);
  const { pathname } = new URL(request.url);
  return fromGuest(answer, headersForClient(answer.headers, pathname, cookie));
}

/** Path and query of a request, under the port's own path at the host: nothing in them leads out of it. */
function targetOf({ url }: Request, { url: base, id, port }: PortAtHost): URL {
  const { pathname, search } = new URL(url);
  const root = hostUrl(base, "vms", id, "ports", String(port));
  const target = new URL(root.href + pathname + withoutToken(search));
  if (target.pathname !== root.pathname + pathname) throw unreachable();
  return target;
}

function fromGuest({ status, statusText, body, webSocket }: Response, headers: Headers): Response {
  const isBare = WITHOUT_BODY.includes(status);
  return new Response(isBare ? null : body, { status, statusText, headers, webSocket });
}

async function refused(answer: Response): Promise<never> {
  await answer.body?.cancel();
  switch (answer.status) {
    case 425:
      throw new ApiError("PortNotReady", "Nothing listens on this port yet. Try again.");
    case 429:
      throw new ApiError(
        "PreviewBusy",
        "Too many requests to this machine are open. Wait for one to end.",
      );
    case 404:
      throw new ApiError("NotRunning", "The machine has ended.");
    case 409:
      throw new ApiError("NotRunning", "The sandbox is paused. Resume it.");
    default:
      log.warn("host_refused", { call: "/vms/:id/ports/:port", status: answer.status });
      throw unreachable();
  }
}

const unreachable = (): ApiError =>
  new ApiError("HostUnreachable", "The server inside cannot be reached. Try again.");
