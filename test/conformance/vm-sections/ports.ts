import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { Preview } from "@svc/contract/vm/preview.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Machine, VmOrg, VmService } from "../vm-caller.ts";

/** Document 2: GET /sandboxes/:id/ports/:port, and what its URL lets in. */
export function ports(service: VmService): void {
  describe("GET /sandboxes/:id/ports/:port", () => {
    let org: VmOrg;
    let machine: Machine;
    beforeAll(async () => {
      org = await service.newOrg();
      machine = await org.make();
    });
    afterAll(() => machine[Symbol.asyncDispose]());
    const mint = async (port: number | string, query = "") =>
      org.get(`${machine.sandbox}/ports/${port}${query}`);
    const preview = async (port: number, query = "") =>
      Preview.parse((await mint(port, query)).json);

    test.each(["0", "65536", "-1", "1.5", "http", "1e3", "%20"])("%s is 400", async (port) => {
      const { status, json } = await mint(port);
      expect([status, json]).toMatchObject([400, { code: "ValidationError", field: "port" }]);
    });

    test("answers a URL of the port, the same name each time, and a token", async () => {
      const [first, again, other] = [await preview(1), await preview(1), await preview(65_535)];
      const labels = [first, again, other].map(({ url }) => new URL(url).hostname.split(".")[0]);
      const label = labels[0]?.replace(/-1$/, "");
      expect(labels).toEqual([`${label}-1`, `${label}-1`, `${label}-65535`]);
      for (const { url, token } of [first, other])
        expect(new URL(url).searchParams.get("svc_token")).toBe(token);
    });

    test("of a machine that is deleted is 404", async () => {
      const gone = await org.make();
      await org.delete(gone.path);
      const { status, json } = await org.get(`${gone.sandbox}/ports/3000`);
      expect([status, json]).toMatchObject([404, { code: "NotFound" }]);
    });

    // Where the names of a deployment lead is not ours to know.
    describe.runIf(service.faults)("a preview", () => {
      const ask = (url: string, headers = {}) => visit(service.base, url, headers);

      test("lets in by its URL, and by the cookie that comes with it; by the header too", async () => {
        const { url, token } = await preview(3000);
        const first = await ask(url);
        expect(first.status).toBe(200);
        const [cookie = ""] = first.cookies;
        expect(cookie).toContain("svc_token=");
        const bare = new URL("/", url).href;
        const [pair = ""] = cookie.split(";");
        expect((await ask(bare, { cookie: pair })).status).toBe(200);
        expect((await ask(bare, { "x-svc-preview-token": token })).status).toBe(200);
      });

      test("is 401 without a token, with an altered one, and by a former name, which is named", async () => {
        const { url, token } = await preview(3000);
        const bare = new URL("/", url).href;
        const other = await preview(8000);
        const wrong = [bare, `${bare}?svc_token=${token.slice(0, -4)}AAAA`];
        for (const one of [...wrong, `${bare}?svc_token=${other.token}`])
          expect(await ask(one)).toMatchObject({
            status: 401,
            json: { code: "PreviewTokenRequired" },
          });
        expect(await ask(`${bare}?preview_token=${token}`)).toMatchObject({
          status: 401,
          json: { code: "RenamedCredential", error: expect.stringContaining("svc_token") },
        });
      });

      test("is 425 where nothing listens", async () => {
        const { url } = await preview(4000);
        expect(await ask(url)).toMatchObject({ status: 425, json: { code: "PortNotReady" } });
      });

      test("is open to everyone while it is public, and not a moment longer", async () => {
        const { url } = await preview(3000, "?public=1");
        const bare = new URL("/", url).href;
        expect((await ask(bare)).status).toBe(200);
        await preview(3000, "?public=0");
        expect((await ask(bare)).status).toBe(401);
      });
    });
  });
}

/** Asks a preview over the gateway's own port: Node finds no *.localhost. */
async function visit({ hostname, port }: URL, url: string, headers: object) {
  const { host, pathname, search } = new URL(url);
  const path = `${pathname}${search}`;
  const asked = request({ hostname, port, path, headers: { ...headers, host } });
  asked.end();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  const { statusCode: status, headers: got } = answer;
  const body = await text(answer);
  const json: unknown = status === 200 ? null : JSON.parse(body);
  return { status, json, cookies: got["set-cookie"] ?? [] };
}
