import { readSettings } from "@svc/host-kit/settings.ts";
import { pino } from "pino";
import { Exits } from "../../../browser-pool/proxies/exits.ts";
import { PROXY_SETTINGS, providersOf } from "../../../browser-pool/proxies/settings.ts";

/** The exits of a pool with these settings, and the lines of its log. */
export function exitsOf(env: Record<string, string>): { exits: Exits; log: string[] } {
  const log: string[] = [];
  const values = readSettings(PROXY_SETTINGS, env);
  const exits = new Exits({
    providers: providersOf(values),
    check: values.proxyCheck,
    log: pino({ messageKey: "event" }, { write: (line) => void log.push(line) }),
  });
  return { exits, log };
}
