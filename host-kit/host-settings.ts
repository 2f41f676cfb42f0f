import { HostId } from "@svc/contract/host-protocol/heartbeat.ts";
import { Secret } from "@svc/contract/secrets.ts";
import * as z from "zod";
import { readAllowance } from "./egress/allowance.ts";
import { STOP_MS } from "./lifetime.ts";
import { LOG_FORMAT } from "./log.ts";
import { optionalSetting, requiredSetting, setting } from "./settings.ts";

/** A whole number, as text. */
export const count = z.coerce.number().int().min(0);
const httpUrl = z.url({ protocol: /^https?$/ });
const address = z
  .string()
  .regex(/^(.+):(\d+)$/, "write host:port")
  .transform((text) => {
    const cut = text.lastIndexOf(":");
    return { host: text.slice(0, cut).replace(/^\[|\]$/g, ""), port: Number(text.slice(cut + 1)) };
  });

/** Called the same in both hosts. */
const COMMON = {
  gatewayUrl: requiredSetting({
    name: "SVC_GATEWAY_URL",
    meaning: "Where the host reaches its gateway. `npm start` sets it.",
    schema: httpUrl,
  }),
  hostToken: requiredSetting({
    name: "SVC_HOST_TOKEN",
    meaning: "The secret that gateway and hosts share. `npm start` sets it.",
    schema: Secret,
  }),
  stateDir: setting({
    name: "SVC_STATE_DIR",
    default: ".svc",
    meaning: "The folder of everything that outlives a start.",
    schema: z.string(),
  }),
  egressAllow: setting({
    name: "SVC_EGRESS_ALLOW",
    default: "",
    defaultMeaning: "no private address",
    meaning:
      "Private addresses that browsers and machines may reach, as `host:port,host:port`. All others are refused. Browsers reach a mail port (25, 465, 587) only by its exact pair.",
    schema: z.string().transform(readAllowance),
  }),
  stopMs: setting({
    name: "SVC_STOP_MS",
    default: String(STOP_MS),
    unit: "ms",
    meaning:
      "How long a host may take to stop before it ends itself. A VM host pauses its machines meanwhile. At least 2000.",
    schema: count.min(2_000),
  }),
  logLevel: setting({
    name: "SVC_LOG_LEVEL",
    default: "info",
    meaning: "The least important log lines that are written: `debug`, `info`, `warn` or `error`.",
    schema: z.string(),
  }),
  logFormat: LOG_FORMAT,
};

/** What differs between the two kinds of hosts. */
interface HostNames {
  id: string;
  listen: string;
  url: string;
}

/** The variables that every host reads. */
export function hostSettings(names: HostNames) {
  return {
    ...COMMON,
    hostId: setting({
      name: "SVC_HOST_ID",
      default: names.id,
      meaning: "The name of the host in the fleet. Two hosts of a fleet have two names.",
      schema: HostId,
    }),
    listen: setting({
      name: names.listen,
      default: "127.0.0.1:0",
      meaning: "Where the host listens for its gateway. Port 0: any free port.",
      schema: address,
    }),
    publicUrl: optionalSetting({
      name: names.url,
      defaultMeaning: "the address that the host listens at",
      meaning: "Where the gateway reaches the host.",
      schema: httpUrl,
    }),
  };
}
