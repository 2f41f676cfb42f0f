import { apiDocument } from "./api.ts";
import { guides, pageText } from "./guides.ts";
import { PUBLIC } from "./operations.ts";

/** llms.txt: what a model needs to know to use the service. */
export function llmsText(): string {
  const operations = PUBLIC.filter(([, op]) => op.auth !== "operator").map(
    ([, op]) => `- ${op.method} ${op.path}: ${op.summary}`,
  );
  return `# svc

> Browsers and Linux machines on demand. One REST call creates a browser session, and two WebSocket URLs drive its Chromium. One REST call creates a sandbox, a microVM that runs commands.

Authenticate with \`Authorization: Bearer svc_live_<id>_<secret>\`. The whole API as OpenAPI 3.1 is at /openapi.json, guides by task, the TypeScript client and the API as one text at /llms-full.txt.

## A browser

1. POST /sessions answers { sessionId, wsEndpoint, cdpEndpoint, expiresAt }.
2. Playwright: chromium.connect(wsEndpoint), or chromium.connectOverCDP(cdpEndpoint) with any version. Puppeteer: puppeteer.connect({ browserWSEndpoint: cdpEndpoint }). A new session has a page: browser.contexts()[0].pages()[0].
3. DELETE /sessions/<sessionId> when done. A session whose client closes ends by itself after 2 seconds.

## A machine

1. POST /sandboxes answers { sandboxId, … }.
2. POST /sandboxes/<sandboxId>/exec with { cmd, args } answers { exitCode, stdout, stderr }. A 502 means that the command did not report its end.
3. Files go by the signed URLs of GET /sandboxes/<sandboxId>/files/download-url and upload-url; GET /sandboxes/<sandboxId>/ports/<port> answers the URL of a server inside.
4. POST …/pause keeps memory and disk and frees the place, POST …/resume continues. DELETE /sandboxes/<sandboxId> when done.

Retry only what says "retryable": true, and 502, 503, 504. Never retry a 429: release a session or sandbox instead; the body names the holders.

## Guides

${guides()
  .map(({ title, about }) => `- [${title}](/llms-full.txt): ${about}`)
  .join("\n")}

## Operations

${operations.join("\n")}
`;
}

/** llms-full.txt: every guide, the TypeScript client and the API as one text. */
export function llmsFullText(): string {
  const files = [...guides().map(({ file }) => file), "docs/SDK.md"];
  return [llmsText(), ...files.map(pageText), apiDocument()].join("\n");
}
