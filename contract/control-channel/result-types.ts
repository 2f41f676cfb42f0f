/** Forms of a result of code, each with the field that has it. Parts of a result come in this order. */
export const RESULT_TYPES = {
  "text/plain": "text",
  "text/html": "html",
  "text/markdown": "markdown",
  "text/latex": "latex",
  "image/svg+xml": "svg",
  "image/png": "png",
  "image/jpeg": "jpeg",
  "application/json": "json",
  "svc/table": "table",
  "svc/chart": "chart",
} as const;

/** Characters of the field `text` of a result; the rest is cut. */
export const RESULT_TEXT_CHARACTERS = 256 * 1024;
