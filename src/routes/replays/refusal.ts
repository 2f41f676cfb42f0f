import { type ApiError, errorResponse } from "@svc/contract/errors.ts";
import { isPerson, refusalPage } from "../../refusal-page.ts";

const GONE = "Links to replays last for some minutes. Ask for a new one where you got this one.";
const AWAY = "The replay could not be looked up just now. Load this page again in a moment.";

/** A refusal of a replay's page, in the words of whoever asks. It is never kept: the next URL may be good. */
export function refuseReplay(request: Request, error: ApiError): Response {
  const plain = errorResponse(error);
  const headers = new Headers(plain.headers);
  headers.set("cache-control", "no-store");
  headers.set("vary", "accept");
  if (!isPerson(request)) return new Response(plain.body, { status: plain.status, headers });
  const isGone = error.code === "ObjectNotFound";
  headers.set("content-type", "text/html; charset=utf-8");
  headers.set("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'");
  headers.set("referrer-policy", "no-referrer");
  const page = isGone
    ? refusalPage("This replay's link is not valid any more", GONE)
    : refusalPage(
        "This replay cannot be shown",
        error.code === "ControlPlaneUnavailable" ? AWAY : error.message,
      );
  return new Response(page, { status: plain.status, headers });
}
