import { Agent, get } from "node:http";

/** What a number of connections got, each asking again as soon as it is answered. */
export interface Load {
  /** Of each request, in ms. */
  ms: number[];
  perSecond: number;
  failures: number;
}

/** Sends `count` GETs over exactly that many kept connections. */
export async function load(
  url: string,
  key: string,
  { connections, count }: { connections: number; count: number },
): Promise<Load> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const found: Load = { ms: [], perSecond: 0, failures: 0 };
  let left = count;
  const ask = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const began = performance.now();
      if ((await statusOf(url, key, agent)) !== 200) found.failures += 1;
      found.ms.push(performance.now() - began);
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: connections }, ask));
  found.perSecond = count / ((performance.now() - began) / 1000);
  agent.destroy();
  return found;
}

function statusOf(url: string, key: string, agent: Agent): Promise<number> {
  const headers = { authorization: `Bearer ${key}` };
  return new Promise((resolve, reject) => {
    get(url, { agent, headers }, (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode ?? 0));
    }).once("error", reject);
  });
}
