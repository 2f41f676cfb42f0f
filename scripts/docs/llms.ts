import { PUBLIC } from "./operations.ts";

/** llms.txt: what a model needs to know to use the service. */
export function llmsText(): string {
  const operations = PUBLIC.filter(([, op]) => op.auth !== "operator").map(
    ([, op]) => `- ${op.method} ${op.path}: ${op.summary}`,
  );
  return `# svc

> Browsers on demand: one REST call creates a session, two WebSocket URLs drive its Chromium.

Authenticate with \`Authorization: Bearer svc_live_<id>_<secret>\`. The whole API as OpenAPI 3.1 is at /openapi.json.

## How to

1. POST /sessions answers { sessionId, wsEndpoint, cdpEndpoint, expiresAt }.
2. Playwright: chromium.connect(wsEndpoint), or chromium.connectOverCDP(cdpEndpoint) with any version. Puppeteer: puppeteer.connect({ browserWSEndpoint: cdpEndpoint }). A new session has a page: browser.contexts()[0].pages()[0].
3. DELETE /sessions/<sessionId> when done. A session whose client closes ends by itself after 2 seconds.

Retry only what says "retryable": true, and 502, 503, 504. Never retry a 429: release a session instead; the body names the holders.

## Operations

${operations.join("\n")}
`;
}
