import { expect, test } from "vitest";
import { call } from "../support/worker/gateway.ts";

/** The paths of the programs and styles that the page loads. */
async function parts(): Promise<string[]> {
  const page = await (await call("/docs")).text();
  return [...page.matchAll(/(?:src|href)="(\/docs\/[^"]+)"/g)].map(([, path = ""]) => path);
}

test("the page needs no key, and may load its own folder and call this service alone", async () => {
  const response = await call("/docs");
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toContain("text/html");
  const policy = response.headers.get("content-security-policy") ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).toMatch(/script-src https?:\/\/[^ ;]+\/docs\/(;|$)/);
  expect(policy).not.toContain("unsafe");
});

test("each file that the page names is there; those of a version are kept for a year", async () => {
  const paths = await parts();
  expect(paths).toHaveLength(4);
  for (const path of paths) {
    const response = await call(path);
    expect([path, response.status]).toEqual([path, 200]);
    const caching = response.headers.get("cache-control");
    expect(caching?.includes("immutable")).toBe(path.includes("/swagger-ui-"));
    expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(0);
  }
});

test("a page that has not changed is not sent again", async () => {
  const etag = (await call("/docs")).headers.get("etag");
  expect(etag).toMatch(/^(W\/)?".+"$/);
  const again = await call("/docs", { headers: { "if-none-match": etag ?? "" } });
  expect(again.status).toBe(304);
});

test.each(["/docs/nowhere.js", "/docs/..%2fopenapi.json", "/docs/swagger-ui-0.0.0/a.js"])(
  "%s is no file of the page",
  async (path) => {
    const response = await call(path);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: "NotFound" });
  },
);
