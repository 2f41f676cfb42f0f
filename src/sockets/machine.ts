import { ERRORS, isApiError, isRefusal } from "@svc/contract/errors.ts";
import { logOf } from "@svc/contract/log.ts";
import { readVmId } from "@svc/contract/tokens.ts";
import { Hono } from "hono";
import { hostBearer, hostUrl } from "../../durable-objects/host-calls/slots.ts";
import { refuse, relay } from "../../durable-objects/host-calls/relay.ts";
import type { SandboxDO } from "../../durable-objects/sandbox.ts";
import type { AppContext, AppEnv } from "../context.ts";
import { askAwake } from "../routes/sandboxes/wake.ts";

const log = logOf("src");

/**
 * `/control/:id` and `/stream/:id`: the signed id in the URL is the capability; a bearer changes
 * nothing and goes no further. Refusals are plain text, like those of the other sockets.
 */
export const machineSockets = new Hono<AppEnv>();

machineSockets.get("/control/:id", upgrade(control));
machineSockets.get("/stream/:id", upgrade(stream));
for (const path of ["/control", "/control/*", "/stream", "/stream/*"]) {
  machineSockets.all(path, () => refuse(404, "The path is /control/<id> or /stream/<id>."));
}

type Sandbox = DurableObjectStub<SandboxDO>;
type Open = (c: AppContext, id: string, sandbox: Sandbox) => Promise<Response>;

function upgrade(open: Open): (c: AppContext) => Promise<Response> {
  return async (c) => {
    if (c.req.header("upgrade")?.toLowerCase() !== "websocket") {
      return refuse(426, "This is a WebSocket endpoint.");
    }
    const id = c.req.param("id") ?? "";
    if (!(await readVmId(c.env.SVC_SIGNING_SECRET, id))) return noSandbox();
    if (!c.req.header("sec-websocket-key")) return refuse(400, "Sec-WebSocket-Key is missing.");
    try {
      return await open(c, id, c.env.SANDBOXES.getByName(id));
    } catch (error) {
      // What stands against resuming it, in its own words.
      if (isApiError(error) && error.code !== "ObjectUnavailable")
        return new Response(`${error.message}\n`, { status: ERRORS[error.code].status });
      log.error("object_failed", { requestId: c.get("requestId"), reason: error });
      return refuse(502, "A part of the service is restarting. Try again.");
    }
  };
}

async function control(c: AppContext, id: string, sandbox: Sandbox): Promise<Response> {
  return toMachine(c, id, sandbox, "control");
}

/** The bytes of RFB, both ways. `?view=1`: the host passes no input on. */
async function stream(c: AppContext, id: string, sandbox: Sandbox): Promise<Response> {
  const kind = await sandbox.kind();
  if (kind === "desktop") return toMachine(c, id, sandbox, "stream");
  return kind ? refuse(404, "A sandbox has no screen: only desktops do.") : noSandbox();
}

/** The object says where the machine is; the socket itself passes the Worker alone. */
async function toMachine(
  c: AppContext,
  id: string,
  sandbox: Sandbox,
  what: "control" | "stream",
): Promise<Response> {
  const place = await askAwake(c.env, id, async () => sandbox.locate());
  if (isRefusal(place)) {
    const { status } = ERRORS[place.refused.code];
    return new Response(`${place.refused.message}\n`, { status });
  }
  const bearer = await hostBearer(c.env, { org: place.org, id });
  const target = hostUrl(place.url, "vms", id, what);
  if (what === "stream" && c.req.query("view") === "1") target.searchParams.set("view", "1");
  return relay(c.req.raw, target, bearer, "sandbox's machine");
}

const noSandbox = (): Response => refuse(404, "There is no such sandbox.");
