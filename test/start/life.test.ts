import { describe, expect, test } from "vitest";
import { descendants, expectGone, isAlive } from "./processes.ts";
import { ROLES, type Role, START_MS, Service } from "./service.ts";

const SOON = { timeout: START_MS };

describe.skipIf(process.platform !== "linux")("npm start", { timeout: 4 * START_MS }, () => {
  test("prints ready on a line of its own, and the key it writes opens the gateway", async () => {
    await using service = await Service.ready();
    expect(await service.health()).toBe(200);
    const authorization = `Bearer ${service.read("dev.key")}`;
    const sessions = await fetch(new URL("/sessions", service.url), { headers: { authorization } });
    expect(sessions.status).toBe(200);
    const files = ["dev.key", "admin.token", "host.token", "signing.secret"];
    expect(files.map((name) => service.mode(name))).toEqual(files.map(() => "600"));
  });

  test.each([
    ["TERM to npm", (service: Service) => process.kill(service.pid, "SIGTERM")],
    ["Ctrl-C", (service: Service) => process.kill(-service.pid, "SIGINT")],
    ["a closed terminal", (service: Service) => process.kill(-service.pid, "SIGHUP")],
  ])("%s leaves nothing behind", async (_name, end) => {
    await using service = await Service.ready();
    const family = await service.wholeFamily();
    for (const role of Object.keys(ROLES)) service.process(role as Role);
    const gateway = service.process("gateway");
    const hosts = [service.process("pool"), service.process("vmHost")];
    end(service);
    await expect.poll(() => isAlive(gateway), SOON).toBe(false);
    // Hosts end first: they still report to the gateway what they end.
    expect(hosts.map(isAlive)).toEqual([false, false]);
    await service.expectNothingLeft(family);
  });

  test.each(["npm", "launcher", "supervisor"] as const)(
    "SIGKILL of the %s leaves nothing behind",
    async (role) => {
      await using service = await Service.ready();
      const family = await service.wholeFamily();
      process.kill(service.process(role).pid, "SIGKILL");
      await service.expectNothingLeft(family);
    },
  );

  // What is killed before it listens for the end of its parent must not be missed.
  test.each([
    ["supervisor", "gateway"],
    ["supervisor", "workerd"],
    ["supervisor", "pool"],
    ["supervisor", "vmHost"],
    ["launcher", "supervisor"],
    ["npm", "launcher"],
  ] as const)(
    "SIGKILL of the %s as soon as the %s is there leaves nothing behind",
    async (killed, seen) => {
      await using service = new Service();
      await expect.poll(() => service.find(seen), { ...SOON, interval: 5 }).toBeDefined();
      const family = service.family();
      process.kill(service.process(killed).pid, "SIGKILL");
      await service.expectNothingLeft(family);
    },
  );

  test("a killed gateway, workerd or host comes back, the gateway on its port", async () => {
    await using service = await Service.ready();
    for (const role of ["workerd", "gateway", "pool", "vmHost"] as const) {
      await service.wholeFamily();
      const before = descendants(service.process(role).pid);
      process.kill(service.process(role).pid, "SIGKILL");
      await expectGone(before);
      await expect.poll(() => service.find(role), SOON).toBeDefined();
      await expect.poll(() => service.health(), SOON).toBe(200);
    }
    const family = service.family();
    process.kill(service.pid, "SIGTERM");
    await service.expectNothingLeft(family);
  });
});
