import { describe, expect, test } from "vitest";
import type { Service } from "../caller.ts";
import { sendRaw } from "../sockets.ts";

const KB16 = 16_384;
const MB = 1_048_576;

const BODIES = [
  ["POST", "/sessions", KB16],
  ["POST", "/sessions/x/allowed-domains", KB16],
  ["POST", "/sessions/x/lease", KB16],
  ["DELETE", "/sessions/x", KB16],
  ["POST", "/profiles", KB16],
  ["DELETE", "/profiles/x", KB16],
  ["POST", "/profiles/x/save", MB],
] as const;

/** Document 1: limits. */
export function limits(service: Service): void {
  describe.each(BODIES)("the body of %s %s", (method, path, cap) => {
    const head = (length: string | number) => [
      `Authorization: Bearer ${service.key}`,
      "Content-Type: application/json",
      `Content-Length: ${length}`,
    ];

    test("above its cap is 413 with the limit, by the header alone", async () => {
      // No byte of it is ever sent: an answer shows that none was waited for.
      const { status, body } = await sendRaw(service.base, `${method} ${path}`, head(cap + 1));
      expect(status).toBe(413);
      expect(JSON.parse(body)).toMatchObject({ code: "PayloadTooLarge", limit: cap });
    });

    test("above its cap is 413 also when its length is not told", async () => {
      const chunk = "x".repeat(cap + 1);
      const lines = [head(0)[0] ?? "", "Transfer-Encoding: chunked", ""];
      const body = `${chunk.length.toString(16)}\r\n${chunk}\r\n0`;
      const { status } = await sendRaw(service.base, `${method} ${path}`, [...lines, body]);
      expect(status).toBe(413);
    });

    test("with a malformed Content-Length is 400", async () => {
      for (const length of ["abc", "-5", "12, 12", ""]) {
        const { status } = await sendRaw(service.base, `${method} ${path}`, head(length));
        expect(status).toBe(400);
      }
    });
  });

  test("a create of exactly 16 KB is served", async () => {
    const org = await service.newOrg();
    const body = { x: "" };
    const room = KB16 - JSON.stringify(body).length;
    await using session = await org.open({ x: "x".repeat(room) });
    expect((await session.read()).status).toBe("active");
  });

  test("a missing key is told before a body that is too large, and that before a field of wrong shape", async () => {
    const large = `Content-Length: ${KB16 + 1}`;
    const known = [`Authorization: Bearer ${service.key}`, large];
    expect((await sendRaw(service.base, "POST /sessions", [large])).status).toBe(401);
    expect((await sendRaw(service.base, "POST /sessions", known)).status).toBe(413);
    expect((await service.owner.post("/sessions", { proxy: "zz" })).status).toBe(400);
  });
}
