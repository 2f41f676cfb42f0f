import { Program } from "../service/program.ts";

/** A small web site in a process of its own. */
export interface Site {
  url: string;
  /** host:port, as SVC_EGRESS_ALLOW wants it. */
  address: string;
}

export async function startSite(): Promise<Site> {
  const url = await new Program(["bench/site/main.ts"]).ready();
  return { url, address: new URL(url).host };
}
