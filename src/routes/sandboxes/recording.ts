import { LIMITS } from "@svc/contract/limits.ts";
import { SCREEN_DEFAULT, sizeOfScreen } from "@svc/contract/vm/machine.ts";
import { recordingKey } from "../../../control-plane/objects.ts";
import { expectRecording, forgetRecording } from "../../../control-plane/recordings.ts";
import type { CreateSandboxOrder } from "../../../durable-objects/sandbox/create.ts";
import { tried } from "../../../durable-objects/live/tried.ts";
import { type AppContext, baseUrlOf } from "../../context.ts";
import { signedUrl } from "../../object-url.ts";
import type { WantedSandbox } from "./read-create.ts";

const DAY_MS = 86_400_000;

/** Where the recording of a desktop will be, when one was asked for: signed before there is one (document 2). */
export async function recordingOf(
  c: AppContext,
  { id, org }: Pick<CreateSandboxOrder, "id" | "org">,
  { record }: Pick<WantedSandbox, "record">,
): Promise<{ recordingUrl?: string }> {
  if (!record) return {};
  const key = recordingKey(org, id);
  const expiresAt = Date.now() + LIMITS.recordingUrlMs;
  const claims = { act: "get", key, contentType: "video/webm", expiresAt } as const;
  return { recordingUrl: await signedUrl(c.env, baseUrlOf(c), claims) };
}

/** Makes a desktop with its recording noted beside; neither is there without the other. */
export async function recorded<Made>(
  c: AppContext,
  { id: sandboxId, org: orgId, body }: Pick<CreateSandboxOrder, "id" | "org" | "body">,
  create: () => Promise<Made>,
): Promise<Made> {
  if (!body.record) return create();
  const { DB } = c.env;
  const keepMs = c.get("caller").plan.recordingDays * DAY_MS;
  const facts = { ...sizeOfScreen(body.resolution ?? SCREEN_DEFAULT), keepMs };
  await expectRecording(DB, { orgId, sandboxId }, facts, Date.now());
  try {
    return await create();
  } catch (error) {
    c.executionCtx.waitUntil(tried("recording_not_forgotten", forgetRecording(DB, sandboxId)));
    throw error;
  }
}
