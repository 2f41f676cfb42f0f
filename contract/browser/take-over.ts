import * as z from "zod";
import { PERSON_LIMITS } from "./person-limits.ts";
import { SessionFileName } from "./session-file.ts";

/** Taking a session over (docs/OBSERVING.md): its hand-off as REST shows it, and what the person may send on `/ws/live`. */

/** How long a hand-off lasts: seconds that may be asked for, and what it gets without asking. */
export const HANDOFF_SECONDS = { least: 30, most: 1800, usual: 600 } as const;

/** `pending`: nobody has come yet. `active`: somebody has. The others are final. */
export const HandoffStatus = z.enum(["pending", "active", "completed", "cancelled", "expired"]);
export type HandoffStatus = z.infer<typeof HandoffStatus>;

/**
 * The purpose of a hand-off. `takeOver`: begun by live-token. `login`: a person is asked for something, signing in as a rule.
 * `autologin`: the service itself signs in (docs/LOGINS.md): nobody else may, and nobody looks.
 */
export const HandoffKind = z.enum(["takeOver", "login", "autologin"]);
export type HandoffKind = z.infer<typeof HandoffKind>;

/** The last hand-off of a session. */
export const Handoff = z.object({
  id: z.string(),
  kind: HandoffKind,
  status: HandoffStatus,
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
  /** The request to the person, as plain text. */
  instructions: z.string().exactOptional(),
  /** The glob that ends the hand-off once the page's URL matches it. */
  successUrl: z.string().exactOptional(),
  /** The URL of the page when the person gave the session back. */
  finalUrl: z.string().exactOptional(),
});
export type Handoff = z.infer<typeof Handoff>;

/** POST /sessions/:id/live-token. */
export const AskLiveToken = z.object({
  timeoutSeconds: z.int().min(HANDOFF_SECONDS.least).max(HANDOFF_SECONDS.most).exactOptional(),
});
export type AskLiveToken = z.infer<typeof AskLiveToken>;

/** 200 of it. `url` has the token in it and opens as it is, for one person at a time, as long as the hand-off lasts. */
export const LiveToken = z.object({
  handoff: Handoff,
  token: z.string(),
  url: z.string(),
  expiresInSeconds: z.int().positive(),
});
export type LiveToken = z.infer<typeof LiveToken>;

/** In pixels of the frame. */
const place = z.number().min(-PERSON_LIMITS.pixels).max(PERSON_LIMITS.pixels);
/** As DevTools has them: 1 alt, 2 ctrl, 4 meta, 8 shift. */
const mods = z.int().min(0).max(15).default(0);
/** Where a person may go by `nav`. */
export const isReachable = (url: string): boolean => /^(?:https?:\/\/|about:blank$)/i.test(url);

/** What a person does to the page that is shown. */
export const InputMessage = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("mouse"),
    action: z.enum(["move", "down", "up", "wheel"]),
    x: place,
    y: place,
    /** `scale` of that frame; without it that of the newest, whose size may be another. */
    scale: z.number().min(0.01).max(10).exactOptional(),
    button: z.enum(["none", "left", "middle", "right"]).default("none"),
    clicks: z.int().min(0).max(3).default(1),
    dx: place.default(0),
    dy: place.default(0),
    mods,
  }),
  z.object({
    type: z.literal("key"),
    action: z.enum(["down", "up"]),
    /** `key` and `code` of the browser's event. */
    key: z.string().min(1).max(32),
    code: z.string().max(32).default(""),
    /** What the key writes, if it writes. */
    text: z.string().max(8).exactOptional(),
    mods,
  }),
  /** Pasted, or written by an input method. */
  z.object({ type: z.literal("text"), text: z.string().max(PERSON_LIMITS.textCharacters) }),
  z.discriminatedUnion("action", [
    z.object({ type: z.literal("nav"), action: z.literal("goto"), url: z.string().max(2_048) }),
    z.object({ type: z.literal("nav"), action: z.enum(["back", "forward", "reload", "stop"]) }),
  ]),
  z.object({
    type: z.literal("tab"),
    action: z.enum(["show", "close", "new"]),
    /** The tab to show or to close; the shown one without it. */
    page: z.string().max(64).exactOptional(),
  }),
  z.object({
    type: z.literal("dialog"),
    action: z.enum(["accept", "dismiss"]),
    /** The answer to a prompt. */
    text: z.string().max(4_096).exactOptional(),
  }),
  /** The answer to a page that wants files: files of the session, by their names. */
  z.discriminatedUnion("action", [
    z.object({
      type: z.literal("files"),
      action: z.literal("give"),
      names: z.array(SessionFileName).min(1).max(PERSON_LIMITS.files),
    }),
    z.object({ type: z.literal("files"), action: z.literal("cancel") }),
  ]),
]);
export type InputMessage = z.infer<typeof InputMessage>;

/** The person asks where a file goes that they want to give; the answer is `upload` (contract/browser/observer.ts). */
export const AskUpload = z.object({ type: z.literal("askUpload"), name: SessionFileName });
export type AskUpload = z.infer<typeof AskUpload>;

/** The hand-off ends: the person has done what was asked, or will not. */
export const HandBack = z.object({
  type: z.literal("handoff"),
  action: z.enum(["done", "cancel"]),
});
export type HandBack = z.infer<typeof HandBack>;

/** What the page asks of the person who has it. */
export const PageAsks = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("dialog"),
    page: z.string(),
    /** `gone`: it was answered, by whomever. */
    kind: z.enum(["alert", "confirm", "prompt", "beforeunload", "gone"]),
    message: z.string().exactOptional(),
    text: z.string().exactOptional(),
  }),
  /** The page wants a file, or several. `gone`: it has what was given. */
  z.object({
    type: z.literal("fileChooser"),
    page: z.string(),
    kind: z.enum(["one", "several", "gone"]),
  }),
]);
export type PageAsks = z.infer<typeof PageAsks>;
