import { type Socket, createSocket } from "node:dgram";
import { Resolver as Client } from "node:dns/promises";
import { once } from "node:events";
import { decode, encode } from "dns-packet";
import { expect, onTestFinished, test } from "vitest";
import { type NameLookup, Resolver } from "../../browser-pool/egress/resolver.ts";

const ADDRESSES = [
  { address: "93.184.215.14", family: 4 },
  { address: "2606:2800:21f:cb07:6820:80da:af6b:8b2c", family: 6 },
];
const known: NameLookup = (name) => Promise.resolve(name === "good.test" ? ADDRESSES : null);

async function bound(): Promise<Socket> {
  const socket = createSocket("udp4");
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return socket;
}

/** A resolver, its socket, and a client of it. */
async function resolver(lookup = known) {
  const socket = await bound();
  let floods = 0;
  const made = new Resolver(socket, lookup, () => (floods += 1));
  const { port } = socket.address();
  const client = new Client({ timeout: 60_000, tries: 1 });
  client.setServers([`127.0.0.1:${port}`]);
  onTestFinished(() => made.close());
  return { made, socket, client, port, floods: () => floods };
}

test("a name that may be known has its addresses of the kind that is asked for", async () => {
  const { client } = await resolver();
  expect(await client.resolve4("good.test")).toEqual(["93.184.215.14"]);
  expect(await client.resolve6("good.test")).toEqual(["2606:2800:21f:cb07:6820:80da:af6b:8b2c"]);
  await expect(client.resolveTxt("good.test")).rejects.toMatchObject({ code: "ENODATA" });
  await expect(client.resolveMx("good.test")).rejects.toMatchObject({ code: "ENODATA" });
});

test("any other name does not exist, whatever is asked of it", async () => {
  const { client } = await resolver();
  for (const type of ["A", "AAAA", "TXT"])
    await expect(client.resolve("bad.test", type)).rejects.toMatchObject({ code: "ENOTFOUND" });
});

test("nonsense is left unanswered, and the next question is answered", async () => {
  const { client, port } = await resolver();
  const other = await bound();
  onTestFinished(() => void other.close());
  const response = encode({
    type: "response",
    id: 1,
    questions: [{ type: "A", name: "good.test" }],
  });
  const cut = encode({ type: "query", id: 2, questions: [{ type: "A", name: "good.test" }] });
  const loop = Buffer.from("000000000001000000000000c00c00010001", "hex");
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.alloc(11),
    Buffer.alloc(2_000, 255),
    response,
    cut.subarray(0, -3),
    loop,
  ])
    other.send(bytes, port, "127.0.0.1");
  expect(await client.resolve4("good.test")).toEqual(["93.184.215.14"]);
});

test("no question and two questions are told to be beyond it", async () => {
  const { port } = await resolver();
  const other = await bound();
  onTestFinished(() => void other.close());
  const question = { type: "A", name: "good.test" } as const;
  for (const questions of [[], [question, question]]) {
    other.send(encode({ type: "query", id: 7, questions }), port, "127.0.0.1");
    const [answer]: Buffer[] = await once(other, "message");
    expect(decode(answer ?? Buffer.alloc(0))).toMatchObject({
      id: 7,
      type: "response",
      rcode: "NOTIMP",
    });
  }
});

test("who floods a resolver ends it", async () => {
  const { socket, port, floods } = await resolver();
  const other = await bound();
  onTestFinished(() => void other.close());
  const closed = once(socket, "close");
  const bytes = encode({ type: "query", id: 7, questions: [{ type: "A", name: "bad.test" }] });
  let isClosed = false;
  void closed.then(() => (isClosed = true));
  for (let rounds = 0; rounds < 1_000 && !isClosed; rounds += 1) {
    for (let count = 0; count < 200; count += 1) other.send(bytes, port, "127.0.0.1");
    await new Promise(setImmediate);
  }
  await closed;
  expect(floods()).toBe(1);
});

test("look-ups that never end are bounded", async () => {
  let asked = 0;
  const { port } = await resolver(() => {
    asked += 1;
    return new Promise(() => {});
  });
  const other = await bound();
  onTestFinished(() => void other.close());
  const bytes = encode({ type: "query", id: 7, questions: [{ type: "A", name: "good.test" }] });
  for (let count = 0; count < 200; count += 1) other.send(bytes, port, "127.0.0.1");
  other.send(encode({ type: "query", id: 8, questions: [] }), port, "127.0.0.1");
  await expect.poll(() => asked).toBe(32);
});
