import { CLOSE_CODES, CLOSE_MEANINGS, CLOSE_SOCKETS } from "@svc/contract/close-codes.ts";
import { ERRORS } from "@svc/contract/errors.ts";
import type { Operation } from "@svc/contract/operations/operation.ts";
import { PUBLIC, statusesOf } from "./operations.ts";

const HEAD = `# API

Made from \`contract/operations/\` by \`npm run docs\`: do not edit. The same as OpenAPI 3.1: \`/openapi.json\`.

Send \`Authorization: Bearer svc_live_…\`. Bodies are JSON. An error is \`{ error, code?, retryable?, … }\`; try again only
when \`retryable\` is true or the status is 502, 503 or 504. An id of another org gets the same 404 as an id that never was.
`;

/** docs/API.md: every operation with what it takes and what it may answer. */
export function apiDocument(): string {
  const operations = PUBLIC.map(([, op]) => section(op)).join("\n");
  return `${HEAD}\n${operations}\n${SOCKETS}\n${closeTable()}\n${PREVIEWS}\n${errorTable()}`;
}

function section(op: Operation): string {
  const answers = statusesOf(op).map(([status, codes]) => `${status} ${codes.join(", ")}`);
  const fields = op.request && "shape" in op.request ? Object.keys(Object(op.request.shape)) : [];
  const lines = [
    `## ${op.method} ${op.path}`,
    "",
    op.summary + (op.idempotent ? " Honours `Idempotency-Key`." : ""),
    "",
    ...(op.isRaw ? ["- Body: raw bytes"] : []),
    ...Object.entries(op.query ?? {}).map(
      ([name, { isRequired, description }]) =>
        `- Query \`${name}\`${isRequired ? "" : " (optional)"}: ${description}`,
    ),
    ...(fields.length > 0 ? [`- Body: ${fields.map((name) => `\`${name}\``).join(", ")}`] : []),
    `- Answers ${op.success.status}; or ${answers.join(" · ")}`,
    `- Body cap ${op.bodyBytes.toLocaleString("en")} bytes; credential: ${CREDENTIAL[op.auth]}`,
    "",
  ];
  return lines.join("\n");
}

const CREDENTIAL: Record<Operation["auth"], string> = {
  key: "API key",
  console: "token of the console",
  operator: "SVC_ADMIN_TOKEN",
  host: "host token",
  objectUrl: "the signed token in the path",
  fileUrl: "the signed token in the query",
  none: "none",
};

const SOCKETS = `## WebSockets

| path | what | refusals, as plain text |
|---|---|---|
| \`/ws/:sessionId\` | Playwright's own protocol | 401 bad id or older than 90 minutes · 404 malformed path, ended, or its pool away for 15 s · 428 version not served · 429 the session has 32 sockets · 502 the pool failed |
| \`/cdp/:sessionId\` | raw DevTools protocol | the same, without 428 |
| \`/control/:id\` | the control channel of a sandbox | 404 bad id, gone · 409 not running · the refusals of a resume · 429 the machine has 64 control sockets · 502 the machine failed |
| \`/stream/:id\` | the screen of a desktop, as RFB; \`?view=1\` only watches | 404 bad id, gone, or a sandbox · 409 not running · the refusals of a resume · 429 the desktop has 16 viewers · 502 the machine failed |

The signed id in the URL is the capability: no key is asked, and anyone who has the URL can drive the browser or the machine.
`;

const isCloseName = (name: string): name is keyof typeof CLOSE_CODES =>
  Object.hasOwn(CLOSE_CODES, name);
const CLOSE_NAMES = Object.keys(CLOSE_CODES).filter(isCloseName);

const PREVIEWS = `## Previews

\`GET /sandboxes/:id/ports/:port\` answers \`http(s)://<label>-<port>.<SVC_PREVIEW_DOMAIN>/?svc_token=…\`. Every request to that host name
reaches the server inside unchanged: any method, path and body, server-sent events, WebSockets. The token stands in the query \`svc_token\`, in the header
\`x-svc-preview-token\`, or in the cookie that answers a request with the query; a tab is also led to the URL without the token. The cookie opens nothing for pages of other origins. The token lives for an hour, and the guest never sees it. A refusal
is a page where the client accepts HTML, else JSON: 401 \`PreviewTokenRequired\`, or \`RenamedCredential\` for a former name (\`preview_token\`,
\`x-preview-token\`) · 404 no such preview, or the sandbox is gone · 409 not running · the refusals of a resume · 425 \`PortNotReady\`, nothing listens yet · 429 \`PreviewBusy\`, 256 requests are open · 502 the machine failed.
A WebSocket whose machine is paused, reverted or ended is closed with 4409, 4410 or 4404.
Headers of the server inside reach no further than the preview's host name: cookies lose their \`Domain\`.
`;

function closeTable(): string {
  const rows = CLOSE_NAMES.flatMap((name) => {
    const sockets = CLOSE_SOCKETS[name].map((socket) => `\`${socket}\``).join(", ");
    // Of a socket that is not served yet.
    return sockets === "" ? [] : `| ${CLOSE_CODES[name]} | ${CLOSE_MEANINGS[name]} | ${sockets} |`;
  });
  const head = [
    "A socket that has been open is closed with one of these codes, and a reason in words. A preview's socket has the codes of its server inside beside these.",
    "",
    "| code | meaning | sockets |",
    "|---|---|---|",
  ];
  return [...head, ...rows, ""].join("\n");
}

function errorTable(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, retryable }]) => `| \`${code}\` | ${status} | ${retryable ? "yes" : "no"} |`,
  );
  return ["## Codes", "", "| code | status | retry |", "|---|---|---|", ...rows, ""].join("\n");
}
