import type { Page } from "../../page/page.ts";
import { pictureOf } from "../../page/picture.ts";
import type { ToolResult } from "../../tool.ts";

/** Prepares and does something, and answers its outcome: with a picture, where one is wanted. */
export async function acted(
  page: Page,
  shows: boolean,
  prepare: () => Promise<() => Promise<void>>,
): Promise<ToolResult> {
  const act = await prepare();
  const json = await page.acting(act);
  if (!shows || page.isGone) return { json };
  const { data, ...size } = await pictureOf(page);
  return {
    json: { ...json, ...size },
    blocks: [{ type: "image", data, mimeType: "image/jpeg" }],
  };
}
