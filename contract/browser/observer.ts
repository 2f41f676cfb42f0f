import * as z from "zod";
import type { PageAsks } from "./take-over.ts";

/** Observer streams (docs/OBSERVING.md): what REST answers about them, and every message of `/ws/observe`. */

/** 200 of POST /sessions/:id/observe-token. `url` has the token in it and opens as it is. */
export const ObserveToken = z.object({
  token: z.string(),
  url: z.string(),
  expiresInSeconds: z.int().positive(),
});
export type ObserveToken = z.infer<typeof ObserveToken>;

/** Frames a second that a viewer may ask for, and gets without asking. */
export const FPS = { least: 1, most: 20, usual: 10 } as const;
/** Quality of the JPEG and width of the picture without a wish. */
export const PICTURE = { quality: 60, maxWidth: 1280 } as const;

const fps = z.int().min(FPS.least).max(FPS.most);
const page = z.string().min(1).max(64);
const seq = z.int().nonnegative();

/** Each message of a viewer names its type. The newest message with a `seq` acknowledges all before it. */
export const ViewerMessage = z.discriminatedUnion("type", [
  z.object({ type: z.literal("ack"), seq }),
  z.object({
    type: z.literal("options"),
    fps: fps.exactOptional(),
    quality: z.int().min(10).max(90).exactOptional(),
    maxWidth: z.int().min(160).max(1920).exactOptional(),
    /** The tab to be shown; null: the active one, whichever that is. */
    page: page.nullable().exactOptional(),
  }),
]);
export type ViewerMessage = z.infer<typeof ViewerMessage>;
export type ViewerOptions = Omit<Extract<ViewerMessage, { type: "options" }>, "type">;

/** A tab of the session. */
export const ObservedPage = z.object({
  id: page,
  url: z.string(),
  title: z.string(),
  /** The tab that came, or went somewhere, last: the one that is shown to viewers who have not chosen. */
  active: z.boolean(),
});
export type ObservedPage = z.infer<typeof ObservedPage>;

/** The tabs, whenever they change. */
export const PagesMessage = z.object({
  type: z.literal("pages"),
  seq,
  pages: z.array(ObservedPage).max(100),
});
export type PagesMessage = z.infer<typeof PagesMessage>;

/** The text messages that a viewer gets. */
export type TextMessage =
  | { type: "hello"; v: 1; kind: "fast" | "stealth"; mode: "observe" | "control"; fps: number }
  | PagesMessage
  | PageAsks
  /** The request to the person, and the moment it ends (ISO 8601); sent to the person alone. */
  | { type: "handoff"; id: string; instructions?: string; successUrl?: string; expiresAt: string }
  /** The answer to `askUpload`: a PUT of the bytes to this path of the gateway makes them a file of the session. */
  | { type: "upload"; name: string; path: string }
  /** `handoff`: a person has the session; others are shown no frames until it is over. */
  | { type: "state"; status: "active" | "away"; handoff?: "active" }
  | {
      type: "error";
      code: "ReadOnly" | "Malformed" | "NoSuchPage" | "TooManyPages";
      message: string;
    };

/** What stands before the JPEG in a binary message. */
export const FrameHead = z.object({
  seq,
  /** When the browser drew it, in ms since the epoch. */
  ts: z.number(),
  page,
  /** Size of the JPEG in pixels. */
  w: z.int().positive(),
  h: z.int().positive(),
  /** Pixels of the JPEG for one CSS pixel of the page. */
  scale: z.number().positive(),
  /** How far the page is scrolled, in CSS pixels. */
  sx: z.number(),
  sy: z.number(),
});
export type FrameHead = z.infer<typeof FrameHead>;
