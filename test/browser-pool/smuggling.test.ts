import { once } from "node:events";
import { type IncomingMessage, get } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingBrowser } from "../support/process/needs.ts";
import { RawCdp } from "./clients.ts";
import { Rig } from "./rig.ts";

const MIB = 1024 * 1024;
/** Longer than messages that are parsed whole. */
const PADDING = "p".repeat(2_000);

describe.skipIf(await missingBrowser())(
  "what a /cdp client sends cannot be read in two ways",
  () => {
    let rig: Rig;
    let client: RawCdp;
    let session: string;
    let own: string;

    beforeAll(async () => {
      rig = await Rig.start();
      await rig.place("s1");
      const other = await RawCdp.open(rig, "s1");
      session = await other.attach();
      client = await RawCdp.open(rig, "s1");
      own = await client.attach();
    });
    afterAll(() => rig.stop());

    /** The reply to a raw text: the next message without a method. */
    async function replyTo(text: string): Promise<unknown> {
      const before = client.heard.length;
      const reply = () =>
        client.heard.slice(before).find((message) => message.method === undefined);
      client.socket.send(text);
      await expect.poll(reply).toBeDefined();
      return reply();
    }

    async function livesOn(): Promise<void> {
      expect((await client.call("Browser.getVersion")).result).toBeDefined();
    }

    const evaluate = (rest: string): string =>
      `{"id":900001,"method":"Runtime.evaluate","x":"${PADDING}",${rest}}`;

    test("the last of two methods counts, and a forbidden one never passes", async () => {
      const params = `"params":{"a":"${PADDING}"}`;
      const text = `{"id":900001,"method":"Browser.getVersion",${params},"method":"Browser.crashGpuProcess"}`;
      expect(await replyTo(text)).toMatchObject({
        id: 900001,
        error: { message: "Not allowed here." },
      });
      const escaped = `{"id":900002,${params},"m\\u0065thod":"Browser.crashGpuPr\\u006fcess"}`;
      expect(await replyTo(escaped)).toMatchObject({
        id: 900002,
        error: { message: "Not allowed here." },
      });
      await livesOn();
    });

    test("a session of another client is not reached by a second or an escaped name", async () => {
      const params = `"params":{"expression":"1"}`;
      for (const name of ["sessionId", "s\\u0065ssionId"]) {
        const text = evaluate(`"sessionId":"${own}",${params},"${name}":"${session}"`);
        expect(await replyTo(text)).toMatchObject({ id: 900001, error: { code: -32001 } });
      }
      const inside = evaluate(
        `"params":{"expression":"1","sessionId":"${session}"},"sessionId":"${own}"`,
      );
      expect(await replyTo(inside)).toMatchObject({ id: 900001, sessionId: own });
    });

    test.each([
      ["a NUL", `"params":{"expression":"1\0{\\"id\\":1}"}`],
      ["a NUL between members", `"y":1,\0"params":{}`],
      ["a comment that hides a quote", `"params":{"expression":/*"*/"1"}`],
      ["a brace too many", `"params":{}}`],
      ["no value", `"params":{"expression":}`],
      ["deeper nesting than Chromium reads", `"params":{"x":${"[".repeat(400)}${"]".repeat(400)}}`],
      ["a number that no double holds", `"params":{"x":1e999}`],
    ])("%s is answered as no JSON, and the browser is not sent it", async (_name, rest) => {
      expect(await replyTo(evaluate(rest))).toMatchObject({ error: { code: -32700 } });
      await livesOn();
    });

    test("nesting as deep as allowed is answered by Chromium under the client's id", async () => {
      const deep = `${"[".repeat(298)}${"]".repeat(298)}`;
      const text = evaluate(`"sessionId":"${own}","params":{"expression":"2","x":${deep}}`);
      expect(await replyTo(text)).toMatchObject({ id: 900001 });
    });

    test("a message above 96 MiB closes its socket with 4413, and nothing else", async () => {
      const sender = await RawCdp.open(rig, "s1");
      sender.socket.send("x".repeat(96 * MIB + 1));
      expect((await sender.closed).code).toBe(4413);
      await livesOn();
    });

    test("an answer above 96 MiB closes the socket of its client with 4413, and nothing else", async () => {
      const reader = await RawCdp.open(rig, "s1");
      const page = await reader.attach();
      void reader.call("Runtime.evaluate", { expression: `"x".repeat(${97 * MIB})` }, page);
      expect((await reader.closed).code).toBe(4413);
      await livesOn();
    }, 120_000);

    test("a session has 32 sockets of both endpoints; the next one is 429 until one of them has closed", async () => {
      await rig.place("s2");
      const open = Array.from({ length: 32 }, () => RawCdp.open(rig, "s2"));
      const [first] = await Promise.all(open);
      for (const kind of ["ws", "cdp"] as const) {
        const { url, headers } = await rig.socket(kind, "s2");
        const refused = await refusalOf(url, {
          ...headers,
          "user-agent": "Playwright/1.65.0 (x64)",
        });
        expect(refused.status).toBe(429);
        expect(refused.text).toContain("32 sockets of /ws and /cdp");
      }
      first?.socket.close();
      await first?.closed;
      await expect.poll(() => RawCdp.open(rig, "s2").then(Boolean, () => false)).toBe(true);
    });
  },
);

/** How an upgrade is refused. */
async function refusalOf(url: string, headers: Record<string, string>) {
  const request = get(url.replace(/^ws/, "http"), {
    headers: {
      ...headers,
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
    },
  });
  const [response]: IncomingMessage[] = await once(request, "response");
  let text = "";
  for await (const chunk of response ?? []) text += String(chunk);
  return { status: response?.statusCode, text };
}
