import { ask } from "../../../control-plane/database.ts";
import { baseUrlOf, type Handler } from "../../context.ts";
import { objectUrl } from "../../object-url.ts";
import { invalidUrl } from "../objects/invalid-url.ts";

/** The program of the page: console/replay, bundled by scripts/bundle-player.ts. */
export const PLAYER_SCRIPT = "/replay/player.js";

/**
 * The page that plays a replay. What was recorded is a stranger's: the page may run its own program, fetch the one replay,
 * and nothing else. Frames inherit that.
 */
export const playReplay: Handler = async (c) => {
  const { OBJECTS } = c.env;
  const { key } = c.get("objectUrl");
  if (!(await ask(OBJECTS, () => OBJECTS.head(key)))) throw invalidUrl();
  const base = baseUrlOf(c);
  const replay = await objectUrl(c.env, base, { key, contentType: "application/gzip" });
  const script = base + PLAYER_SCRIPT;
  return new Response(page(script, replay.url), {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy(script, replay.url),
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      // No policy holds it back: a recorded link would be looked up.
      "x-dns-prefetch-control": "off",
    },
  });
};

/** Recorded styles are inline ones. Pictures and fonts come out of the replay itself or not at all. */
const policy = (script: string, replay: string): string =>
  [
    "default-src 'none'",
    `script-src ${script}`,
    `connect-src ${replay}`,
    "style-src 'unsafe-inline'",
    "img-src data: blob:",
    "font-src data:",
    "media-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    // The frame of the recorded DOM must be of this origin to be written, and no frame inside gets more than the page.
    "sandbox allow-scripts allow-same-origin allow-downloads",
  ].join("; ");

/** Both URLs are of this service's own making: nothing in them needs an escape. */
const page = (script: string, replay: string): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Replay</title></head>
<body><main id="replay" data-replay="${replay}">Loading the replay…</main>
<script type="module" src="${script}"></script></body>
</html>
`;
