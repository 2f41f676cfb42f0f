import { ToolError } from "../tool.ts";

const STEP = 0x8000;

/** Bytes as base64. */
export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += STEP)
    text += String.fromCharCode(...bytes.subarray(at, at + STEP));
  return btoa(text);
}

/** The bytes of a base64. */
export function fromBase64(text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    throw new ToolError(
      "InvalidContent",
      "The content is no base64. Text goes with encoding utf8.",
    );
  }
}
