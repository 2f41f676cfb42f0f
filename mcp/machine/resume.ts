import { ApiError } from "@svc/sdk/errors.ts";
import { type ToolContext, ToolError } from "../tool.ts";

/** Says how a machine is, and resumes it first where it rests. */
export async function resumeMachine(
  { svc, signal, progress }: Pick<ToolContext, "svc" | "signal" | "progress">,
  id: string,
): Promise<Record<string, unknown>> {
  const machine = svc.sandboxes.at(id);
  const before = await machine.record({ signal });
  const { kind, state } = before;
  if (state === "gone" || state === "releasing")
    throw new ToolError(
      "Gone",
      `This ${kind} is gone for good. Make another one with svc_${kind}_create; svc_list tells which there are.`,
    );
  const rests = state === "paused" || state === "archived";
  if (rests) {
    progress(`The ${kind} is being resumed`);
    // Somebody else may have resumed it meanwhile.
    await machine.resume({ signal }).catch((error: unknown) => {
      if (!(error instanceof ApiError && error.code === "NotPaused")) throw error;
    });
  }
  const after = rests ? await machine.record({ signal }) : before;
  const { expiresAt } = after;
  return {
    sessionId: id,
    kind,
    state: after.state,
    resumed: rests,
    expiresAt,
    ...(kind === "desktop" && { streamUrl: svc.desktops.at(id).streamUrl }),
  };
}
