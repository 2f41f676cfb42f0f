import { ApiError, ControlError } from "@svc/sdk/errors.ts";
import type { Sandbox } from "@svc/sdk/sandboxes.ts";
import { type ToolContext, ToolError } from "../tool.ts";

/** A machine, as tools use one: sandboxes and desktops alike. */
export type Machine = Sandbox;

/** Works with a machine. Its control channel is opened by the first thing that needs it, and closed at the end. */
export async function withMachine<Value>(
  { svc }: Pick<ToolContext, "svc">,
  sessionId: string,
  work: (machine: Machine) => Promise<Value>,
): Promise<Value> {
  const machine = svc.sandboxes.at(sessionId);
  try {
    return await work(machine);
  } catch (error) {
    throw explained(error);
  } finally {
    machine.close();
  }
}

const UNKNOWN =
  "No sandbox or desktop of this API key has this sessionId. Ids of svc_browser_create belong to the svc_browser_ tools; " +
  "svc_list tells the machines there are, svc_sandbox_create and svc_desktop_create make one.";

const NO_SCREEN =
  "This is a sandbox, which has no screen. Make a desktop with svc_desktop_create, or work here with svc_exec and svc_run_code.";

const NOT_RUNNING: Readonly<Record<string, string>> = {
  paused: "The machine is paused. Resume it with svc_connect, then call again.",
  archived: "The machine is archived. Resume it with svc_connect, then call again.",
  releasing:
    "The machine is being destroyed. Make another one with svc_sandbox_create or svc_desktop_create.",
  gone: "The machine is gone for good. Make another one with svc_sandbox_create or svc_desktop_create.",
};

/** An error as a model can act on it. An error that already says what to do stays as it is. */
export function explained(error: unknown): unknown {
  if (
    error instanceof ApiError &&
    error.status === 404 &&
    (error.code ?? "NotFound") === "NotFound"
  )
    return new ToolError("InvalidSessionId", UNKNOWN);
  if (error instanceof ApiError && error.code === "NotRunning")
    return new ToolError("NotRunning", `${error.message} Resume it with svc_connect.`);
  if (!(error instanceof ControlError)) return error;
  const { code, field, message } = error;
  if (code === "DesktopOnly") return new ToolError(code, NO_SCREEN);
  if (code === "InvalidParams" && (field === "path" || field === "cwd"))
    return new ToolError("InvalidPath", `${message}. A path is absolute, without ..`);
  if (code === "NotRunning") return new ToolError(code, notRunning(message));
  return error;
}

/** The sdk says the state in its text. */
function notRunning(message: string): string {
  const [, state = ""] = /^The machine is (\w+)/.exec(message) ?? [];
  return NOT_RUNNING[state] ?? message;
}
