import { ApiError, isApiError } from "@svc/contract/errors.ts";
import { logOf } from "@svc/contract/log.ts";
import { type PreviewClaims, readPreviewToken } from "@svc/contract/tokens.ts";
import { parsePreviewHost, previewLabel } from "@svc/contract/vm/preview.ts";
import { findPreview } from "../../control-plane/previews.ts";
import { accepted } from "../accepted.ts";
import { previewDomain } from "../env.ts";
import { checkSecrets } from "../middleware/check-secrets.ts";
import { askAwake } from "../routes/sandboxes/wake.ts";
import {
  formerName,
  isTopNavigation,
  type Shown,
  shownToken,
  tokenCookie,
  withoutToken,
} from "./credentials.ts";
import { forward } from "./forward.ts";
import { refusePreview } from "./refusal.ts";

const log = logOf("src");

/** Whether a request is for a preview: nothing else is served under their domain. */
export function isPreview(request: Request, env: Env): boolean {
  const domain = previewDomain(env);
  return domain !== null && hostnameOf(request).endsWith(`.${domain}`);
}

/** A name that ends in a dot is the same name. */
const hostnameOf = ({ url }: Request): string => new URL(url).hostname.replace(/\.$/, "");

/** A request to a preview's host name: checked, and handed to the server inside as it is. */
export async function servePreview(request: Request, env: Env): Promise<Response> {
  const startedAt = Date.now();
  const response = await answer(request, env).catch((error: unknown) => refuse(request, error));
  // No error, whatever the status: that is the guest's.
  const { status } = response;
  log.info("preview", { method: request.method, status, ms: Date.now() - startedAt });
  return response;
}

function refuse(request: Request, error: unknown): Response {
  if (isApiError(error)) return refusePreview(request, error);
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  log.error("bug", { reason: text });
  return refusePreview(request, new ApiError("InternalError", "Something went wrong."));
}

async function answer(request: Request, env: Env): Promise<Response> {
  checkSecrets(env);
  const host = parsePreviewHost(hostnameOf(request), previewDomain(env) ?? "");
  if (!host) throw noPreview();
  const renamed = formerName(request);
  if (renamed) throw new ApiError("RenamedCredential", renamed);
  const shown = shownToken(request);
  const claims = shown && (await claimsFor(env, shown, host));
  const cookie = claims && shown?.in === "query" ? cookieFor(request, shown, claims) : null;
  if (cookie !== null && isTopNavigation(request)) return withoutTokenInSight(request, cookie);
  const id = claims?.id ?? (await findPreview(env.DB, host.label));
  if (id === null) throw noPreview();
  const place = accepted(
    await askAwake(env, id, async (sandbox) => sandbox.visit(host.port, claims !== null)),
  );
  return forward(request, env, { ...place, id, port: host.port }, cookie);
}

/** Leads a tab to the URL without the token, which a script of the page could read there. */
function withoutTokenInSight({ url }: Request, cookie: string): Response {
  const { pathname, search } = new URL(url);
  // Two slashes would begin the URL of another host.
  const path = pathname.startsWith("//") ? `/.${pathname}` : pathname;
  const location = path + withoutToken(search);
  const headers = { location, "set-cookie": cookie, "cache-control": "no-store" };
  return new Response(null, { status: 302, headers });
}

/** The claims of a shown token, when the token is for this host name. */
async function claimsFor(
  env: Env,
  { token }: Shown,
  { label, port }: { label: string; port: number },
): Promise<PreviewClaims | null> {
  const claims = await readPreviewToken(env.SVC_SIGNING_SECRET, token, Date.now());
  if (claims?.port !== port) return null;
  return (await previewLabel(claims.id)) === label ? claims : null;
}

const cookieFor = (request: Request, { token }: Shown, { expiresAt }: PreviewClaims): string =>
  tokenCookie(token, new URL(request.url).protocol, expiresAt - Date.now());

const noPreview = (): ApiError => new ApiError("NotFound", "There is no such preview.");
