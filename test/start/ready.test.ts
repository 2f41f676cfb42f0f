import { HostList } from "@svc/contract/admin/hosts.ts";
import { Health } from "@svc/contract/browser/health.ts";
import { chmodSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { missingMachine } from "../vm-host/rig/needs.ts";
import { START_MS, Service, stateDir } from "./service.ts";

const hindrance = await missingMachine();

async function get(service: Service, path: string, token: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${service.read(token)}` };
  return (await fetch(new URL(path, service.url), { headers })).json();
}

async function create(service: Service, path: string): Promise<Response> {
  const headers = { authorization: `Bearer ${service.read("dev.key")}` };
  return fetch(new URL(path, service.url), { method: "POST", headers });
}

const isOn = (service: Service, what: string): boolean =>
  service.lines.some((line) => line.startsWith(`  on   ${what} `));

describe.skipIf(process.platform !== "linux")("ready", { timeout: 3 * START_MS }, () => {
  test("comes when a session is placed without a wait", async () => {
    // A create that would have to wait for a browser is refused then.
    await using service = await Service.ready({ SVC_ACQUIRE_TIMEOUT_MS: "0" });
    expect(isOn(service, "browsers (fast)")).toBe(true);
    expect(Health.parse(await get(service, "/health", "dev.key"))).toMatchObject({
      saturated: false,
    });
    expect((await create(service, "/sessions")).status).toBe(201);
  });

  test.skipIf(hindrance !== undefined)(
    "comes when a warm machine is registered, also where its golden machine has to be made first",
    async () => {
      const folder = stateDir();
      // Machines' users pass through to the run's folder.
      chmodSync(folder, 0o711);
      await using service = await Service.ready({ SVC_WARM_VM: "1", TMPDIR: folder }, folder);
      expect(isOn(service, "sandboxes")).toBe(true);
      const { hosts } = HostList.parse(await get(service, "/admin/hosts", "admin.token"));
      expect(hosts.find(({ type }) => type === "vm")).toMatchObject({ warm: 1 });
      expect((await create(service, "/sandboxes")).status).toBe(201);
    },
  );

  test.each([
    ["is not there", "/nowhere/chromium", "/nowhere/chromium"],
    ["never starts", brokenBrowser(), "libmissing.so"],
  ])("comes without browsers where Chromium %s, and the banner says so", async (_, path, why) => {
    await using service = await Service.ready({ SVC_CHROMIUM: path });
    expect(isOn(service, "browsers (fast)")).toBe(false);
    const [row] = service.lines.filter((line) => line.startsWith("  off  browsers (fast) "));
    expect(row).toContain(why);
    expect(await service.health()).toBe(200);
  });
});

function brokenBrowser(): string {
  return fileURLToPath(new URL("../browser-pool/broken-browser.sh", import.meta.url));
}
