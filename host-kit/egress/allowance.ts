import { isIP } from "node:net";

/** A pair of SVC_EGRESS_ALLOW: reached although its address is forbidden. The host may be a name. */
export interface AllowedTarget {
  host: string;
  port: number;
}

/** `host:port, [::1]:8080` as a list. Throws on an entry that is no exact pair. */
export function readAllowance(text: string): AllowedTarget[] {
  const entries = text.split(/[\s,]+/).filter((entry) => entry.length > 0);
  return entries.map((entry) => {
    const [, host, port] = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(entry) ?? [];
    if (!host || !port)
      throw new Error(`${entry} is not host:port: write pairs such as 10.0.0.7:8080, [::1]:80`);
    return { host: host.replace(/^\[|\]$/g, "").toLowerCase(), port: Number(port) };
  });
}

/** The pair as the registration shows it. */
export function allowanceText({ host, port }: AllowedTarget): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}
