import { once } from "node:events";
import { join } from "node:path";
import { Allowance } from "@svc/browser-pool/egress/allowance.ts";
import { Forwarder } from "@svc/browser-pool/egress/forwarder.ts";
import { Exits } from "@svc/browser-pool/proxies/exits.ts";
import { PROXY_SETTINGS, providersOf } from "@svc/browser-pool/proxies/settings.ts";
import { ANY_EXIT } from "@svc/contract/host-protocol/exits.ts";
import { createLog } from "@svc/host-kit/log.ts";
import { readSettings } from "@svc/host-kit/settings.ts";
import { tempFolder } from "../service/endings.ts";
import { HOME } from "./facts.ts";
import { opened } from "./tunnels.ts";

/** Connections that a page has open when its way out is swapped. */
const TUNNELS = 32;

/** The ms of each swap: an exit is opened and proved, all that is open is closed, and one connection leaves by the exit. */
export async function swaps(
  n: number,
  port: number,
  env: Record<string, string>,
): Promise<number[]> {
  const values = readSettings(PROXY_SETTINGS, env);
  const log = createLog("bench", "warn");
  const exits = new Exits({ providers: providersOf(values), check: values.proxyCheck, log });
  const forwarder = new Forwarder(await Allowance.of([{ host: HOME, port }]));
  const path = join(tempFolder(), "forwarder");
  await forwarder.listen(path);
  forwarder.open();
  const samples: number[] = [];
  for (let round = 0; round < n; round += 1) {
    const open = await Promise.all(Array.from({ length: TUNNELS }, () => opened(port, path)));
    const closed = open.map((socket) => once(socket.resume(), "close"));
    const began = performance.now();
    const exit = await exits.open("org", ANY_EXIT, new AbortController().signal);
    if (!exit) throw new Error("the exit was not applied");
    forwarder.leaveBy(exit);
    const next = await opened(port, path);
    samples.push(performance.now() - began);
    await Promise.all(closed);
    next.destroy();
  }
  forwarder.close();
  return samples;
}
