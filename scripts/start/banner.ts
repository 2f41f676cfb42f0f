import type { Row } from "./ready.ts";

/** What a newcomer needs to go on: where, with which key, how, and what this machine can do. */
export function banner(base: string, key: string, table: Row[]): string {
  const width = Math.max(...table.map((row) => row.what.length));
  const rows = table.map(({ what, on, note }) =>
    `  ${on ? "on " : "off"}  ${what.padEnd(width)}  ${note}`.trimEnd(),
  );
  return `
  base URL  ${base}
  key       ${key}

  curl -X POST ${base}/sessions -H "Authorization: Bearer ${key}"

  import { chromium } from "playwright-core";
  const headers = { authorization: "Bearer ${key}" };
  const create = await fetch("${base}/sessions", { method: "POST", headers });
  const { wsEndpoint } = await create.json();
  const browser = await chromium.connect(wsEndpoint);
  const page = await browser.newPage();
  await page.goto("https://example.com");
  console.log(await page.title());

${rows.join("\n")}
`;
}
