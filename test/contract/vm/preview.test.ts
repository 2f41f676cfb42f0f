import {
  FORMER_PREVIEW_CREDENTIALS,
  parsePort,
  parsePreviewHost,
  PREVIEW_CREDENTIALS,
  previewLabel,
} from "@svc/contract/vm/preview.ts";
import { expect, test } from "vitest";

test.each([
  ["1", 1],
  ["80", 80],
  ["65535", 65_535],
  ["65536", null],
  ["0", null],
  ["080", null],
  ["-1", null],
  ["+80", null],
  ["80.0", null],
  ["8e1", null],
  ["0x50", null],
  [" 80", null],
  ["80\n", null],
  ["٨٠", null],
  ["", null],
  ["999999999999999999999", null],
])("the port %j is %j", (text, port) => {
  expect(parsePort(text)).toBe(port);
});

test("a label is the same for the same id, another for another, and leaves room for the port", async () => {
  const label = await previewLabel("an id");
  expect(label).toBe(await previewLabel("an id"));
  expect(label).not.toBe(await previewLabel("an id "));
  expect(label).toMatch(/^[0-9a-f]{40}$/);
  expect(`${label}-65535`.length).toBeLessThanOrEqual(63);
});

test("a host name of the domain is a label and a port, and nothing else", async () => {
  const label = await previewLabel("an id");
  const read = (hostname: string) => parsePreviewHost(hostname, "p.test");
  expect(read(`${label}-3000.p.test`)).toEqual({ label, port: 3000 });
  for (const hostname of [
    `${label}-0.p.test`,
    `${label}-70000.p.test`,
    `${label}.p.test`,
    `x${label}-80.p.test`,
    `a.${label}-80.p.test`,
    `${label}-80.q.test`,
    `${label}-80.p.test.evil`,
    `${label}-80xp.test`,
    `${label}-80-81.p.test`,
    "p.test",
    "",
  ])
    expect(read(hostname)).toBeNull();
});

test("no credential is called as it was before", () => {
  expect(Object.keys(FORMER_PREVIEW_CREDENTIALS)).toEqual(Object.keys(PREVIEW_CREDENTIALS));
  const former: string[] = Object.values(FORMER_PREVIEW_CREDENTIALS);
  for (const name of Object.values(PREVIEW_CREDENTIALS)) expect(former).not.toContain(name);
});
