import { LIMITS } from "@svc/contract/limits.ts";
import { listOf } from "@svc/mcp/list.ts";
import type { Tool } from "@svc/mcp/tool.ts";
import { TOOLS, TOOLSETS } from "@svc/mcp/tools/index.ts";
import * as z from "zod";
import { table } from "./table.ts";
import { TOOL_NOTES } from "./tool-notes.ts";

/** docs/TOOLS.md: the tools by their table, and what all of them have in common. */
export function toolsDocument(): string {
  return `${HEAD}
${COMMON}
${TOOLS.map(sectionOf).join("\n\n")}
`;
}

/** As much of a JSON Schema as arguments of tools have. */
const Property = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  enum: z.array(z.unknown()).optional(),
  default: z.unknown().optional(),
  description: z.string().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  maxLength: z.number().optional(),
});
type Property = z.infer<typeof Property>;
const Schema = z.looseObject({
  properties: z.record(z.string(), Property).default({}),
  required: z.array(z.string()).default([]),
});

function sectionOf(tool: Tool): string {
  const [listed] = listOf([tool]);
  const { properties, required } = Schema.parse(listed?.inputSchema);
  const rows = Object.entries(properties).map(([name, property]) => [
    `\`${name}\``,
    typeOf(property),
    property.default === undefined
      ? required.includes(name)
        ? "must be given"
        : ""
      : `\`${JSON.stringify(property.default)}\``,
    property.description ?? "",
  ]);
  const note = TOOL_NOTES[tool.name] ?? { errors: [] };
  const facts = [
    `- Answers ${answerOf(listed?.outputSchema, note.answer)}`,
    `- Hints: ${hintsOf(tool)}`,
    ...(note.errors.length > 0 ? [`- Errors: ${note.errors.join(", ")}`] : []),
  ];
  const list = rows.length > 0 ? table([["argument", "type", "default", "meaning"], ...rows]) : "";
  return [`## ${tool.name}`, tool.description, list, facts.join("\n")].filter(Boolean).join("\n\n");
}

function typeOf({ type = "", enum: values, minimum, maximum, maxLength }: Property): string {
  if (values) return values.map((value) => `\`${String(value)}\``).join(", ");
  const isBounded = minimum !== undefined && maximum !== undefined;
  const bounds = isBounded
    ? ` (${minimum} to ${maximum})`
    : minimum === undefined
      ? ""
      : ` (${minimum} or more)`;
  return `${[type].flat().join(" or ")}${bounds}${maxLength === undefined ? "" : ` (at most ${maxLength} characters)`}`;
}

function answerOf(output: object | undefined, note = ""): string {
  if (!output) return `content: ${note || "JSON"}`;
  const { properties, required } = Schema.parse(output);
  const names = Object.keys(properties).map(
    (name) => `\`${name}\`${required.includes(name) ? "" : "?"}`,
  );
  return `structured content: ${names.join(", ")}`;
}

function hintsOf({ hints: { readOnly, destructive, idempotent, openWorld } }: Tool): string {
  const said = [
    readOnly && "read-only",
    destructive && "destructive",
    idempotent && "idempotent",
    openWorld && "open world",
  ].filter(Boolean);
  return said.length > 0 ? said.join(", ") : "none";
}

const HEAD = `# Tools of agents

Made from \`mcp/tools/index.ts\` by \`npm run docs\`: do not edit.

The agent tool server speaks the Model Context Protocol: revision 2026-07-28, which keeps no sessions, and those before. The
same tools are served in two ways.

- **Hosted**: Streamable HTTP at \`https://HOST/mcp\`. The API key stands in the header \`Authorization: Bearer svc_live_…\`, never
  in the URL: a URL with a key in it is refused. There is no OAuth. A request is at most ${LIMITS.toolCallBytes.toLocaleString("en")} bytes.
- **Local**: a process that speaks over stdin and stdout and asks the service over the network. \`npm run bundle-mcp\` builds it
  as one file, \`mcp/dist/stdio.mjs\`, for Node 18 and newer.

${table([
  ["setting", "hosted", "local"],
  ["API key", "`Authorization: Bearer`", "`SVC_API_KEY`, must be set"],
  [
    "service",
    "the host of the URL",
    "`SVC_BASE_URL` (`http://127.0.0.1:8787`); of browsers `SVC_BROWSER_URL` (the same)",
  ],
  [
    "profile of browsers that name none, by id or name",
    "header `x-svc-default-profile`, else `?defaultProfile=`",
    "`SVC_DEFAULT_PROFILE`",
  ],
  [
    `part of the tools: ${Object.keys(TOOLSETS)
      .map((name) => `\`${name}\``)
      .join(", ")}`,
    "`?toolsets=browser`",
    "`SVC_TOOLSETS`",
  ],
])}`;

const COMMON = `
## What all tools have in common

- **Arguments** are flat, and none is taken that a tool does not have. An error names each that is wrong, and what is expected.
- **Answers**: the first block is one line of JSON, text and pictures follow. Tools that answer structured content answer the
  same JSON as such; the others answer content alone, as several clients show a model one of the two.
- **Errors** are results with \`isError\` and a text of at most 4,000 characters: code, reason, next step.
  \`_meta["svc/error"]\` is the error body of the REST routes and its \`status\`. Every tool may answer \`ValidationError\`,
  \`Unauthorized\`, \`InvalidSessionId\` or \`NotFound\`, \`NotRunning\`, \`PoolUnreachable\`, \`Timeout\`, \`ConnectionFailed\` and
  \`SessionBusy\`. \`ConcurrencyLimitExceeded\` names the plan, its cap and what holds the places: only ending one of these helps.
- **Order**: calls on one session follow each other in the order they came: hosted those of all clients, of which at most
  ${LIMITS.turnsWaiting} wait; a local server orders its own. A session that a person has taken over, or that the service signs in for, answers \`HandoffActive\`. Calls that ask
  nothing of the browser or machine itself wait for nobody.
- **Time**: a call ends 55 s after it began, beside what its \`timeoutSeconds\` and \`waitSeconds\` ask for; creates and resumes
  after three minutes. A client that asks for progress hears every 5 s that a call goes on. A call whose client goes away ends at that time at the latest.
- **What is paid for**: create tools start something that costs money. A browser ends with svc_browser_close, ten minutes
  after the last call on it, or when the local server that created it ends (stdin closed, SIGINT, SIGTERM). Sandboxes and
  desktops pause by themselves; svc_connect resumes them, svc_kill ends them.
- A browser takes tools for ${LIMITS.socketUrlAgeMs / 60_000} minutes after its create, as its socket's URL opens for no longer: \`BrowserTooOld\`. Tools that
  look at a page may also answer \`PageCrashed\` and \`PageClosed\`.
`;
