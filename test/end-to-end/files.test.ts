import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { LIMITS } from "@svc/contract/limits.ts";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { firstResponse, parseRaw, sendRaw } from "../support/process/raw-http.ts";
import { VmGateway } from "../support/process/vm-gateway.ts";

let it: VmGateway;
beforeAll(async () => void (it = await VmGateway.start()));
afterAll(() => it?.close());

const pathOf = (url: URL): string => url.pathname + url.search;

/** Begins a request by hand: what follows its head is the caller's to send. */
async function begin(lines: string[]): Promise<Socket> {
  const { port, hostname, host } = it.gateway.url;
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.write([...lines, `Host: ${host}`, "Connection: close", "", ""].join("\r\n"));
  return socket;
}

async function answerOf(socket: Socket): Promise<ReturnType<typeof parseRaw>> {
  let answer = "";
  socket.setEncoding("utf8").on("data", (text: string) => (answer += text));
  await once(socket, "close");
  return parseRaw(answer);
}

const chunk = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
const END = "0\r\n\r\n";

const FRAMINGS = {
  "of a told length": {
    header: "Content-Length: 300000",
    frame: (bytes: Buffer) => bytes,
    end: "",
  },
  "of an untold length": { header: "Transfer-Encoding: chunked", frame: chunk, end: END },
};

describe.each(Object.entries(FRAMINGS))("an upload %s", (name, { header, frame, end }) => {
  const part = Buffer.alloc(100_000, "x");

  test("is passed on as it comes", async () => {
    const path = `/streamed ${name}`;
    const began = once(it.host.files, "began");
    const socket = await begin([
      `PUT ${pathOf(await it.fileUrl("upload", path))} HTTP/1.1`,
      header,
    ]);
    socket.write(frame(part));
    // The guest has bytes while the client still holds the rest.
    expect(await began).toEqual([path]);
    socket.write(frame(part));
    socket.write(frame(part));
    socket.write(end);
    const { status } = await answerOf(socket);
    expect(status).toBe(200);
    expect(it.host.files.get(path)?.length).toBe(300_000);
  });

  test("that is cut on its way is cut at the guest too, and never a whole file", async () => {
    const path = `/cut ${name}`;
    const began = once(it.host.files, "began");
    const cut = once(it.host.files, "cut");
    const socket = await begin([
      `PUT ${pathOf(await it.fileUrl("upload", path))} HTTP/1.1`,
      header,
    ]);
    socket.write(frame(part));
    await began;
    socket.destroy();
    expect(await cut).toEqual([path]);
    expect(it.host.files.get(path)).toBeUndefined();
  });
});

test.each([
  ["an untold length", []],
  ["chunks that hide behind a small length", ["Content-Length: 3"]],
])("an upload of %s above the cap is 413, and never a whole file", async (_name, lines) => {
  const socket = await begin([
    `PUT ${pathOf(await it.fileUrl("upload", "/big"))} HTTP/1.1`,
    ...lines,
    "Transfer-Encoding: chunked",
  ]);
  const answer = answerOf(socket);
  const part = Buffer.alloc(1024 * 1024);
  for (let sent = 0; sent <= LIMITS.fileBodyBytes; sent += part.length)
    if (!socket.write(chunk(part))) await once(socket, "drain");
  socket.write(END);
  expect((await answer).status).toBe(413);
  expect(it.host.files.get("/big")).toBeUndefined();
});

test("an upload whose told length is above the cap is 413 before a byte of it", async () => {
  const socket = await begin([
    `PUT ${pathOf(await it.fileUrl("upload", "/big"))} HTTP/1.1`,
    `Content-Length: ${LIMITS.fileBodyBytes + 1}`,
  ]);
  const { status, body } = parseRaw(await firstResponse(socket));
  expect([status, JSON.parse(body)]).toMatchObject([413, { code: "PayloadTooLarge" }]);
});

test("a large upload that the guest refuses at once is answered, though it was still being sent", async () => {
  it.host.mode = { ...it.host.mode, files: "full" };
  onTestFinished(() => void (it.host.mode = { ...it.host.mode, files: "ok" }));
  const url = await it.fileUrl("upload", "/full");
  const response = await fetch(url, { method: "PUT", body: Buffer.alloc(20 * 1024 * 1024) });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    code: "GuestRefused",
    detail: "/x: the disk is full",
  });
});

test.each(["full", "away"] as const)(
  "an upload whose client stands still hears at once of a host that answers %s",
  async (files) => {
    it.host.mode = { ...it.host.mode, files };
    onTestFinished(() => void (it.host.mode = { ...it.host.mode, files: "ok" }));
    const path = pathOf(await it.fileUrl("upload", "/still"));
    const socket = await begin([`PUT ${path} HTTP/1.1`, "Content-Length: 300000"]);
    socket.write(Buffer.alloc(100_000));
    const { status } = parseRaw(await firstResponse(socket));
    socket.destroy();
    expect(status).toBe(files === "full" ? 400 : 502);
  },
);

describe("two lengths in one request", () => {
  const smuggled = "5\r\nhello\r\n0\r\n\r\n";
  test.each([
    [
      "a length and chunks",
      ["Content-Length: 3", "Transfer-Encoding: chunked"],
      smuggled,
      200,
      "hello",
    ],
    ["two lengths", ["Content-Length: 3", "Content-Length: 5"], "hello", 400, undefined],
    ["an encoding that is none", ["Transfer-Encoding: xchunked"], smuggled, 400, undefined],
  ])("%s", async (name, lines, body, status, written) => {
    const path = `/smuggled ${name}`;
    const head = [`PUT ${pathOf(await it.fileUrl("upload", path))} HTTP/1.1`, ...lines];
    const answer = parseRaw(await sendRaw(it.gateway.url, head, body));
    expect([answer.status, it.host.files.get(path)?.toString()]).toEqual([status, written]);
  });
});

describe("a download", () => {
  test("comes whole, with the name of the file", async () => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, at) => at % 251));
    it.host.files.set("/tmp/a.bin", bytes);
    const response = await fetch(await it.fileUrl("download", "/tmp/a.bin"));
    expect(response.headers.get("content-disposition")).toBe('attachment; filename="a.bin"');
    expect(response.headers.get("content-encoding")).toBeNull();
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
  });

  test("that breaks off is a broken connection, not a short file", async () => {
    it.host.files.set("/tmp/b", Buffer.alloc(1_000_000, "x"));
    it.host.mode = { ...it.host.mode, files: "cut" };
    onTestFinished(() => void (it.host.mode = { ...it.host.mode, files: "ok" }));
    const url = await it.fileUrl("download", "/tmp/b");
    const raw = await answerOf(await begin([`GET ${pathOf(url)} HTTP/1.1`]));
    const response = await fetch(url);
    await expect(response.arrayBuffer()).rejects.toThrow("terminated");
    expect(raw.head.toLowerCase()).toContain("content-length: 1000000");
    expect(raw.body.length).toBeLessThan(1_000_000);
  });

  test("asked for with HEAD answers the head alone, with the length of the file", async () => {
    it.host.files.set("/tmp/c", Buffer.from("hello"));
    const url = await it.fileUrl("download", "/tmp/c");
    for (const headers of [{}, { range: "bytes=1-2" }]) {
      const response = await fetch(url, { method: "HEAD", headers });
      expect([response.status, await response.text()]).toEqual([200, ""]);
      expect(response.headers.get("content-length")).toBe("5");
      expect(response.headers.get("accept-ranges")).toBe("bytes");
    }
    const missing = await fetch(await it.fileUrl("download", "/tmp/nowhere"), { method: "HEAD" });
    expect(missing.status).toBe(404);
  });

  test.each<[string, number, string, string | null]>([
    ["bytes=0-", 206, "0123456789", "bytes 0-9/10"],
    ["bytes=-3", 206, "789", "bytes 7-9/10"],
    ["bytes=2-4", 206, "234", "bytes 2-4/10"],
    ["bytes=0-0", 206, "0", "bytes 0-0/10"],
    ["bytes=9-99", 206, "9", "bytes 9-9/10"],
    ["bytes=-99", 206, "0123456789", "bytes 0-9/10"],
    ["bytes=10-", 416, "RangeNotSatisfiable", "bytes */10"],
    ["bytes=-0", 416, "RangeNotSatisfiable", "bytes */10"],
    ["bytes=5-2", 200, "0123456789", null],
    ["bytes=0-1,3-4", 200, "0123456789", null],
    ["bytes=x-y", 200, "0123456789", null],
    ["bytes=", 200, "0123456789", null],
    ["lines=0-1", 200, "0123456789", null],
  ])("of %s is %i", async (range, status, text, contentRange) => {
    it.host.files.set("/tmp/d", Buffer.from("0123456789"));
    const url = await it.fileUrl("download", "/tmp/d");
    const response = await fetch(url, { headers: { range } });
    expect([response.status, response.headers.get("content-range")]).toEqual([
      status,
      contentRange,
    ]);
    const body = await response.text();
    const { code } = status === 416 ? (JSON.parse(body) as { code: string }) : { code: body };
    expect(code).toBe(text);
    expect(response.headers.get("content-length")).toBe(String(body.length));
    expect(response.headers.get("accept-ranges")).toBe(status === 416 ? null : "bytes");
  });
});
