import { once } from "node:events";
import { createServer } from "node:net";
import { Health } from "@svc/contract/browser/health.ts";
import { START_SETTINGS } from "../start/settings.ts";
import type { Finding } from "../../cli/doctor/finding.ts";

const ANSWER_MS = 5_000;
const LAST_PORT = 65_535;

/** Whether `npm start` can listen on its port, or does so already. */
export async function lookAtPort(): Promise<Finding[]> {
  const what = "port";
  const port = START_SETTINGS.port.read(process.env.SVC_PORT);
  const reason = await whyNot(port);
  if (reason === null)
    return [{ what, state: "ok", note: port === 0 ? "any free one" : `${port} is free` }];
  if (await isService(port)) return [{ what, state: "ok", note: `${port} has this service` }];
  const cause = reason === "EADDRINUSE" ? ": another program has it" : "";
  const note = `${port} cannot be used (${reason})${cause}`;
  return [{ what, state: "missing", note, fix: `SVC_PORT=${await freePortAfter(port)} npm start` }];
}

/** The reason why nothing can listen on a port; null: it is free. */
async function whyNot(port: number): Promise<string | null> {
  const probe = createServer().listen(port, "127.0.0.1");
  try {
    await once(probe, "listening");
    return null;
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  } finally {
    probe.close();
  }
}

/** The next port that is free; 0, which is any free one, after the last. */
async function freePortAfter(port: number): Promise<number> {
  for (let next = port + 1; next <= LAST_PORT; next++)
    if ((await whyNot(next)) === null) return next;
  return 0;
}

async function isService(port: number): Promise<boolean> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), ANSWER_MS);
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/health`, { signal: abort.signal });
    return Health.safeParse(await answer.json()).success;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
