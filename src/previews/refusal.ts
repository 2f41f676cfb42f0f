import { errorBody, type ErrorCode, ERRORS } from "@svc/contract/errors.ts";
import { isPerson, refusalPage } from "../refusal-page.ts";

type Refused = Parameters<typeof errorBody>[0];

/** A page that people see says more than its status. */
const TITLES: Partial<Record<ErrorCode, string>> = {
  PortNotReady: "Nothing listens here yet",
  PreviewTokenRequired: "This preview needs its link",
  RenamedCredential: "This link is of an older kind",
  NotFound: "There is nothing here",
  NotRunning: "The sandbox is not running",
  PreviewBusy: "Too much is open here",
};

/** A refusal in the words of whoever asks: a page for browsers, JSON for programs. It is never kept. */
export function refusePreview(request: Request, refused: Refused): Response {
  const { status, retryable } = ERRORS[refused.code];
  const isPage = isPerson(request);
  const headers = {
    "cache-control": "no-store",
    vary: "accept",
    "content-type": isPage ? "text/html; charset=utf-8" : "application/json",
    ...(retryable && { "retry-after": "1" }),
  };
  const body = isPage ? page(refused) : JSON.stringify(errorBody(refused));
  return new Response(body, { status, headers });
}

function page({ code, message }: Refused): string {
  // The page reloads until the server inside is up.
  const refresh = code === "PortNotReady" ? '<meta http-equiv="refresh" content="2">' : "";
  return refusalPage(TITLES[code] ?? "The preview does not answer", message, refresh);
}
