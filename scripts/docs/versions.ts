import { readFileSync } from "node:fs";
import {
  WIRE_VERSIONS,
  WIRE_VERSION_HEADER,
  type WireVersion,
  wireMismatch,
} from "@svc/contract/browser/wire-versions.ts";
import * as z from "zod";
import { table } from "./table.ts";

const MANIFEST = new URL("../../browser-pool/package.json", import.meta.url);
const Manifest = z.object({ dependencies: z.record(z.string(), z.string()) });

/** docs/VERSIONS.md: which clients a session takes. */
export function versionsDocument(): string {
  const { dependencies } = Manifest.parse(JSON.parse(readFileSync(MANIFEST, "utf8")));
  const rows = WIRE_VERSIONS.map((minor) => [`${minor}.x`, behind(minor, dependencies)]);
  return `${HEAD}
${table([["client on `/ws`", "served by"], ...rows])}
${REST}`;
}

/** The exact version that answers clients of a minor: an alias or the package itself. */
function behind(minor: WireVersion, dependencies: Record<string, string>): string {
  const versions = Object.entries(dependencies)
    .filter(([name]) => /^playwright-core(-|$)/.test(name))
    .map(([, version]) => version.replace(/^npm:/, "").replace(/^playwright-core@/, ""));
  const found = versions.find((version) => version.startsWith(`${minor}.`));
  if (!found) throw new Error(`browser-pool has no playwright-core of ${minor}`);
  return `\`playwright-core@${found}\``;
}

const HEAD = `# Versions

Made from \`contract/browser/wire-versions.ts\` and \`browser-pool/package.json\` by \`npm run docs\`: do not edit.

## Playwright on /ws

Playwright's own protocol changes with every minor version. A pool keeps one server for each org and each minor that
its clients speak. All servers of an org drive the same browsers: clients of different minors see each other's pages.
The User-Agent \`Playwright/<version>\` tells the minor of a client; a client that names none gets the newest.
`;

const REST = `
In browsers of kind \`stealth\` clients of 1.63 are served by \`patchright-core@1.63.0\`, an optional package: pages see nothing of
it, and its clients hear no \`console\` events. Clients of the other minors are served by Playwright itself, which is attached
when the first of them connects, and which pages can notice from then on. Without the package that holds for 1.63, too.

## 428

Any other Playwright is refused at the upgrade with \`428 Precondition Required\` and plain text, such as

\`\`\`
${wireMismatch("1.50").trimEnd()}
\`\`\`

Install a version from the table, or connect to \`cdpEndpoint\`; trying again does not help. To know before the upgrade, send
\`${WIRE_VERSION_HEADER}: ${WIRE_VERSIONS[0]}\` with \`POST /sessions\`: a version that is not served is 428 there already.

## CDP

\`cdpEndpoint\` takes any client of the DevTools protocol, of any version: Playwright's \`connectOverCDP\`, Puppeteer, raw CDP.

## Chromium

A pool runs the Chromium that is installed on its machine. \`versions\` of \`GET /admin/hosts\` names it, and the minors that the
pool serves.
`;
