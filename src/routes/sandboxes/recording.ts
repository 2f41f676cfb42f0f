import { LIMITS } from "@svc/contract/limits.ts";
import { objectKey } from "../../../control-plane/objects.ts";
import type { CreateSandboxOrder } from "../../../durable-objects/sandbox/create.ts";
import { type AppContext, baseUrlOf } from "../../context.ts";
import { signedUrl } from "../../object-url.ts";
import type { WantedSandbox } from "./read-create.ts";

/** Where the recording of a desktop will be, when one was asked for: signed before there is one (document 2). */
export async function recordingOf(
  c: AppContext,
  { id, org }: Pick<CreateSandboxOrder, "id" | "org">,
  { record }: Pick<WantedSandbox, "record">,
): Promise<{ recordingUrl?: string }> {
  if (!record) return {};
  const key = objectKey({ purpose: "recording", org, sandbox: id });
  const expiresAt = Date.now() + LIMITS.recordingUrlMs;
  const claims = { act: "get", key, contentType: "video/webm", expiresAt } as const;
  return { recordingUrl: await signedUrl(c.env, baseUrlOf(c), claims) };
}
