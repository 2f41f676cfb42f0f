import type { BrowserKind } from "@svc/contract/browser/session.ts";
import { proportionalMib, residentMib, steady } from "../machine/memory.ts";
import { find, playwrightsOf, slotsOf } from "../machine/processes.ts";
import type { Environment } from "../service/program.ts";
import { Service } from "../service/service.ts";
import { NAMES, throughGateway } from "./contestants.ts";
import { Rest } from "./rest.ts";
import { Customer } from "../service/customer.ts";

const SLOTS = 5;

/** What a pool with five slots takes, in MiB. */
export interface Footprint {
  /** Of each warm slot, all its processes. */
  slotMib: number[];
  poolIdleMib: number;
  /** With one session driven over /ws, so that its Playwright is loaded. */
  poolInUseMib: number;
  /** Of each Playwright, all its processes, with that session. */
  playwrightMib: number[];
}

/** A service of its own: one that has served before shows its heap instead. */
export async function measureFootprint(
  siteUrl: string,
  env: Environment,
  kind: BrowserKind = "fast",
): Promise<Footprint> {
  const service = await Service.start({ ...env, ...warm(kind, SLOTS) });
  try {
    await new Rest([`${service.url}/health`], SLOTS, kind).take("none");
    const pool = find("pool", service.supervisor.pid);
    if (!pool) throw new Error("there is no pool");
    const slots = slotsOf(pool.pid);
    const slotMib: number[] = [];
    for (const { pid } of slots) slotMib.push(await steady(() => proportionalMib(pid)));
    const poolIdleMib = await steady(() => residentMib(pool.pid));
    const customer = new Customer(service.url, service.key);
    const opened = await throughGateway(NAMES.gatewayWs, customer, "ws", {
      stealth: kind === "stealth",
    }).open();
    const browser = await opened.connect();
    await (await opened.firstPage(browser)).goto(siteUrl);
    const poolInUseMib = await steady(() => residentMib(pool.pid));
    const playwrightMib = playwrightsOf(pool.pid).map(({ pid }) => proportionalMib(pid));
    await browser.close();
    return { slotMib, poolIdleMib, poolInUseMib, playwrightMib };
  } finally {
    await service.stop();
  }
}

/** A pool with so many warm browsers of one kind, and none of the other. */
function warm(kind: BrowserKind, count: number): Environment {
  const most = String(count);
  return kind === "fast"
    ? { SVC_WARM_FAST: most, SVC_MAX_FAST: most, SVC_WARM_STEALTH: "0" }
    : { SVC_WARM_FAST: "0", SVC_WARM_STEALTH: most, SVC_MAX_STEALTH: most };
}
