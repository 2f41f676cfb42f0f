import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { START_MS, Service } from "./service.ts";

const LONG = 3 * START_MS;

describe.skipIf(process.platform !== "linux")("the state folder", { timeout: LONG }, () => {
  test("a second start on it refuses in one line and leaves the first alone", async () => {
    await using first = await Service.ready();
    const second = new Service({}, first.folder);
    await second.exit;
    expect(second.npm.exitCode).toBe(1);
    expect(second.lines.filter((line) => line.includes("svc runs on"))).toHaveLength(1);
    expect(second.lines.join("\n")).not.toContain("    at ");
    expect(await first.health()).toBe(200);
  });

  test("after a killed start the next one takes it over, with the same key", async () => {
    await using first = await Service.ready();
    const family = first.family();
    const key = first.read("dev.key");
    process.kill(first.process("supervisor").pid, "SIGKILL");
    await first.expectNothingLeft(family);

    await using second = await Service.ready({}, first.folder);
    expect(second.read("dev.key")).toBe(key);
    const sessions = await fetch(new URL("/sessions", second.url), {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(sessions.status).toBe(200);
  });
});

test("a taken port is said in one line", { timeout: LONG }, async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const address = other.address();
  const port = typeof address === "object" ? String(address?.port) : "";
  await using service = new Service({ SVC_PORT: port });
  await service.exit;
  other.close();
  expect(service.npm.exitCode).toBe(1);
  expect(service.lines.filter((line) => line.includes(`port ${port} is taken`))).toHaveLength(1);
});

test.skipIf(process.platform !== "linux")(
  "the banner tells the key, and what may be reached although it is private",
  { timeout: LONG },
  async () => {
    await using service = await Service.ready({ SVC_EGRESS_ALLOW: "127.0.0.1:9" });
    const said = service.lines.join("\n");
    expect(said).toContain(`  base URL  ${service.url}\n  key       ${service.read("dev.key")}\n`);
    expect(said).toMatch(/^ {2}on +private egress +127\.0\.0\.1:9$/m);
  },
);
