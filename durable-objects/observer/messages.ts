import { ViewerMessage } from "@svc/contract/browser/observer.ts";
import { AskUpload, HandBack, InputMessage } from "@svc/contract/browser/take-over.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import * as z from "zod";

/** What a person who has taken the session over may send. */
const PersonMessage = z.union([ViewerMessage, InputMessage, AskUpload, HandBack]);
type Read = z.infer<typeof PersonMessage>;

/** A message of a viewer; null when it is none that this viewer may send. */
export function readMessage(message: string | ArrayBuffer, isPerson: boolean): Read | null {
  const most = isPerson ? LIMITS.liveMessageBytes : LIMITS.observerMessageBytes;
  if (typeof message !== "string" || message.length > most) return null;
  const schema: z.ZodType<Read> = isPerson ? PersonMessage : ViewerMessage;
  return schema.safeParse(jsonOf(message)).data ?? null;
}

/** The JSON of a text; null when it is none. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
