import { type IncomingMessage, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mintHostBearer, signToken } from "@svc/contract/tokens.ts";
import { isFromGateway } from "@svc/host-kit/bearer.ts";
import { afterAll, beforeAll, expect, test } from "vitest";

const TOKEN = "host-token";
const MINUTE = 60_000;
const server = createServer((request, response) => {
  void judged(request).then((isGood) => response.writeHead(isGood ? 200 : 401).end());
});
const judged = (request: IncomingMessage): Promise<boolean> =>
  isFromGateway(request, TOKEN, "session-1");

beforeAll(() => new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve)));
afterAll(() => void server.close());

async function status(authorization?: string): Promise<number> {
  const { port } = server.address() as AddressInfo;
  const headers = authorization === undefined ? {} : { authorization };
  return (await fetch(`http://127.0.0.1:${port}`, { headers })).status;
}

const claims = { org: "org_1", id: "session-1", expiresAt: Date.now() + MINUTE };

test("the bearer of this session passes", async () => {
  expect(await status(`Bearer ${await mintHostBearer(TOKEN, claims)}`)).toBe(200);
});

const BAD: [string, () => Promise<string | undefined>][] = [
  ["no bearer", async () => undefined],
  ["the host token itself", async () => `Bearer ${TOKEN}`],
  ["basic auth", async () => `Basic ${await mintHostBearer(TOKEN, claims)}`],
  [
    "another session's",
    async () => `Bearer ${await mintHostBearer(TOKEN, { ...claims, id: "s2" })}`,
  ],
  [
    "an expired one",
    async () => `Bearer ${await mintHostBearer(TOKEN, { ...claims, expiresAt: 1 })}`,
  ],
  ["one of another token", async () => `Bearer ${await mintHostBearer("other", claims)}`],
  [
    "one of another purpose",
    async () =>
      `Bearer ${await signToken(TOKEN, "session", `org_1 ${claims.expiresAt} session-1`)}`,
  ],
];

for (const [what, authorization] of BAD)
  test(`${what} is refused`, async () => {
    expect(await status(await authorization())).toBe(401);
  });
