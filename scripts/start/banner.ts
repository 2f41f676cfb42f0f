import { isAbsolute, relative } from "node:path";
import type { TableLine } from "@svc/host-kit/start-messages.ts";

interface Told {
  base: string;
  /** The new key; null at all later starts. */
  newKey: string | null;
  /** Where the key is kept. */
  keyFile: string;
  table: TableLine[];
}

/** What a newcomer needs to go on: where, with which key, how, and what this machine can do. */
export function banner({ base, newKey, keyFile, table }: Told): string {
  const file = shellPath(keyFile);
  const width = Math.max(...table.map((row) => row.what.length));
  const rows = table.map(({ what, on, note }) =>
    `  ${on ? "on " : "off"}  ${what.padEnd(width)}  ${note}`.trimEnd(),
  );
  // The snippets are copied and kept: none has the key in it.
  return `
  base URL  ${base}
  key       ${newKey === null ? `in ${file}` : `${newKey} (shown this once, kept in ${file})`}
  API       ${base}/docs, to read and to try
  tools     ${base}/mcp, for agents (MCP): npx svc mcp config CLIENT says how a client is told of them

  export SVC_API_KEY=$(cat ${file})
  curl -X POST ${base}/sessions -H "Authorization: Bearer $SVC_API_KEY"
  claude mcp add --transport http svc ${base}/mcp --header "Authorization: Bearer $SVC_API_KEY"

  import { chromium } from "playwright-core";
  const headers = { authorization: \`Bearer \${process.env.SVC_API_KEY}\` };
  const create = await fetch("${base}/sessions", { method: "POST", headers });
  const { wsEndpoint } = await create.json();
  const browser = await chromium.connect(wsEndpoint);
  const page = await browser.newPage();
  await page.goto("https://example.com");
  console.log(await page.title());

${rows.join("\n")}
`;
}

/** A path as a shell takes it, short where it is below this folder. */
function shellPath(path: string): string {
  const below = relative(process.cwd(), path);
  const short = below.startsWith("..") || isAbsolute(below) ? path : below;
  return /^[\w./-]+$/.test(short) ? short : `'${short.replaceAll("'", `'\\''`)}'`;
}
