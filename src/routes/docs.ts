import { ApiError } from "@svc/contract/errors.ts";
import { baseUrlOf, type AppContext, type Handler } from "../context.ts";

/** The folder of the page's files. Files in a folder with a version in its name (scripts/swagger-ui.mjs) never change. */
const FOLDER = "/docs/";
const VERSIONED = /^\/docs\/swagger-ui-[\d.]+\//;
const A_YEAR = "public, max-age=31536000, immutable";

/** The page of the API, public/docs/index.html: it may run its own programs and call this service, and nothing else. */
export const docsPage: Handler = async (c) => {
  const answer = await asset(c, FOLDER);
  const headers = new Headers(answer.headers);
  headers.set("content-security-policy", policy(baseUrlOf(c)));
  headers.set("referrer-policy", "no-referrer");
  headers.set("x-content-type-options", "nosniff");
  return new Response(answer.body, { status: answer.status, headers });
};

/** A file of the page. The others than the versioned ones are asked for anew each time: 304, mostly. */
export const docsFile: Handler = async (c) => {
  const { path } = c.req;
  const answer = await asset(c, path);
  if (answer.status >= 400) throw new ApiError("NotFound", "There is no such file of the page.");
  const headers = new Headers(answer.headers);
  headers.set("x-content-type-options", "nosniff");
  if (VERSIONED.test(path)) headers.set("cache-control", A_YEAR);
  return new Response(answer.body, { status: answer.status, headers });
};

/** A file of the assets; a browser that has the file already is answered 304. */
function asset(c: AppContext, path: string): Promise<Response> {
  const etag = c.req.header("if-none-match");
  const headers = new Headers(etag === undefined ? {} : { "if-none-match": etag });
  return c.env.ASSETS.fetch(new URL(path, baseUrlOf(c)), { method: c.req.method, headers });
}

/** Scripts and styles of the page's own folder: other paths of this origin have files of customers. */
const policy = (base: string): string =>
  [
    "default-src 'none'",
    `script-src ${base}${FOLDER}`,
    `style-src ${base}${FOLDER}`,
    `connect-src ${base}`,
    `img-src data:`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
