import * as z from "zod";

/** Arguments that several tools have. */
export const sessionId = z.string();

export const selector = z
  .string()
  .optional()
  .describe("CSS selector, or a ref such as e37 from svc_browser_read_page format=snapshot");

export const x = z.number().optional().describe("x and y are CSS pixels of the viewport");
export const y = z.number().optional();

export const screenshot = z
  .boolean()
  .default(false)
  .describe("Also return a screenshot, taken afterwards");

export const maxChars = z.number().int().min(1_000).max(100_000).default(20_000);
export const timeoutSeconds = z.number().min(1).max(120).default(30);
