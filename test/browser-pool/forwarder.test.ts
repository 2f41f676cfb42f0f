import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Allowance } from "../../browser-pool/egress/allowance.ts";
import { Forwarder } from "../../browser-pool/egress/forwarder.ts";
import { Site } from "./site.ts";

let site: Site;
let folder: string;
let forwarder: Forwarder;

beforeAll(async () => {
  site = await new Site().start();
  folder = await mkdtemp(join(tmpdir(), "forwarder-"));
  forwarder = await listening("s");
  forwarder.open();
});
afterAll(async () => {
  forwarder.close();
  site.stop();
  await rm(folder, { recursive: true });
});

/** A forwarder on a socket of this name, which lets the site be reached. */
async function listening(name: string): Promise<Forwarder> {
  const made = new Forwarder(await Allowance.of([{ host: "127.0.0.1", port: site.port }]));
  await made.listen(join(folder, name));
  return made;
}

/** Asks a forwarder as a browser would, by what stands in the request line. */
function ask(method: string, target: string, name = "s"): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath: join(folder, name), method, path: target, agent: false });
    asked.on("response", (response) => resolve(response.resume().statusCode ?? 0));
    asked.on("connect", (response, socket) => {
      socket.destroy();
      resolve(response.statusCode ?? 0);
    });
    asked.on("error", reject);
    asked.end();
  });
}

test("nothing is reached before the browser has a session", async () => {
  const fresh = await listening("fresh");
  onTestFinished(() => fresh.close());
  expect(await ask("GET", `${site.url}/`, "fresh")).toBe(403);
  expect(await ask("CONNECT", `127.0.0.1:${site.port}`, "fresh")).toBe(403);
  fresh.open();
  expect(await ask("GET", `${site.url}/`, "fresh")).toBe(200);
  expect(await ask("CONNECT", `127.0.0.1:${site.port}`, "fresh")).toBe(200);
});

// What a browser would have normalised: somebody who took a browser over would not.
test.each([
  ["GET", "http://0x7f.1:1/"],
  ["CONNECT", "0x7f.1:1"],
  ["CONNECT", "2130706433:1"],
  ["CONNECT", "0177.0.0.1:1"],
  ["CONNECT", "127.1:1"],
  ["CONNECT", "localhost:1"],
  ["CONNECT", "LOCALHOST:1"],
  ["CONNECT", "[::1]:1"],
  ["CONNECT", "[::ffff:127.0.0.1]:1"],
  ["CONNECT", "[::ffff:7f00:1]:1"],
  ["CONNECT", "[0:0:0:0:0:ffff:7f00:1]:1"],
  ["CONNECT", "169.254.169.254:80"],
])("%s %s is refused", async (method, target) => {
  expect(await ask(method, target)).toBe(403);
});

test("a name without an address is 502", async () => {
  expect(await ask("GET", "http://no-such-name.invalid/")).toBe(502);
});
