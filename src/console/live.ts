import type { HandoffStanding } from "@svc/contract/browser/handoff.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { readAlias, readViewerToken } from "@svc/contract/tokens/viewer.ts";
import { Hono } from "hono";
import { type AppContext, type AppEnv, baseUrlOf } from "../context.ts";
import { localInstance } from "../middleware/local-instance.ts";
import { bearerOf } from "../middleware/auth.ts";
import { ownedSession } from "../routes/sessions/owned.ts";

const SCRIPT = "/console/live.js";
const STYLES = "/console/live.css";

/**
 * The page by which a person acts in a session that is handed to them (docs/LOGINS.md): the same bytes for everybody.
 * The page's program, console/live, reads the token of the URL's fragment, which never comes here but as a bearer.
 */
export const livePage = new Hono<AppEnv>();

for (const path of [SCRIPT, STYLES])
  livePage.get(path, localInstance("none"), (c) => c.env.ASSETS.fetch(c.req.raw));
livePage.get("/console/live/:handoffId/standing", localInstance("key"), standing);
livePage.get("/console/live/:handoffId", localInstance("none"), show);

function show(c: AppContext): Response {
  const base = baseUrlOf(c);
  return new Response(page(base), {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy(base),
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    },
  });
}

/** How the hand-off of a live token stands: a browser does not tell a page why a socket was refused. */
async function standing(c: AppContext): Promise<Response> {
  const now = Date.now();
  const secret = c.env.SVC_SIGNING_SECRET;
  const claims = await readViewerToken(secret, bearerOf(c) ?? "", now);
  const alias = claims?.aud === "live" ? await readAlias(secret, claims.sub, now) : null;
  const { hid } = claims ?? {};
  if (!alias || hid === undefined || hid !== c.req.param("handoffId"))
    throw new ApiError("Unauthorized", "Unauthorized");
  const session = await ownedSession(c, alias.org, alias.id);
  const handoff = await session.ask((object) => object.awaitHandoff(hid, 0));
  const status = handoff?.id === hid ? handoff.status : "gone";
  const isBusy = status === "active" && (await c.env.OBSERVERS.getByName(alias.id).hasPerson());
  return c.json({ status, ...(isBusy && { hasPerson: true }) } satisfies HandoffStanding);
}

const policy = (base: string): string =>
  [
    "default-src 'none'",
    `script-src ${base}${SCRIPT}`,
    `style-src ${base}${STYLES}`,
    `connect-src ${base} ${base.replace(/^http/, "ws")}`,
    "base-uri 'none'",
    "form-action 'none'",
    // No other site shows this page inside its own: a person must see what they click.
    "frame-ancestors 'none'",
  ].join("; ");

const page = (base: string): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">
<title>Live browser</title><link rel="stylesheet" href="${base}${STYLES}"></head>
<body>
<header>
<div class="place"><p class="label">The browser is at</p><h1 id="host">…</h1><p id="warning" hidden></p></div>
<div class="actions"><button id="cancel" type="button" disabled>Cancel</button><button id="done" type="button" class="main" disabled>I am done</button></div>
<p id="instructions" hidden></p>
</header>
<nav id="tabs" aria-label="Tabs of the browser" hidden></nav>
<p id="note" role="status" hidden></p>
<main id="stage">
<div class="screen"><canvas id="picture" width="1280" height="720" aria-hidden="true"></canvas>
<textarea id="keys" aria-label="The browser. What you type, paste and click goes to the page that it shows. F6 leads back to the buttons." autocomplete="off" autocorrect="off" autocapitalize="off" spellcheck="false"></textarea></div>
<dialog id="dialog"><form method="dialog"><p id="dialog-from" class="label"></p><p id="dialog-message"></p><label id="dialog-answer" hidden>Answer <input id="dialog-text"></label>
<div class="actions"><button id="dialog-no" type="button">Cancel</button><button id="dialog-yes" type="button" class="main">OK</button></div></form></dialog>
</main>
<section id="over" role="alert" tabindex="-1" hidden><h2 id="over-title"></h2><p id="over-text"></p></section>
<dialog id="files"><p>The page wants a file of yours.</p><p><input id="files-input" type="file" aria-label="Files for the page"></p>
<div class="actions"><button id="files-no" type="button">Cancel</button></div></dialog>
<noscript>This page needs JavaScript.</noscript>
<script type="module" src="${base}${SCRIPT}"></script>
</body>
</html>
`;
