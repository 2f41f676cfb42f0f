import { once } from "node:events";
import { createServer } from "node:net";
import { Health } from "@svc/contract/browser/health.ts";
import { START_SETTINGS } from "../start/settings.ts";
import type { Finding } from "../../cli/doctor/finding.ts";

const ANSWER_MS = 5_000;
/** Proposed in place of a port that is taken. */
const OTHER_PORTS = [8788, 8789];

/** Whether `npm start` can listen on its port, or does so already. */
export async function lookAtPort(): Promise<Finding[]> {
  const what = "port";
  const port = START_SETTINGS.port.read(process.env.SVC_PORT);
  const probe = createServer().listen(port, "127.0.0.1");
  try {
    await once(probe, "listening");
    return [{ what, state: "ok", note: port === 0 ? "any free one" : `${port} is free` }];
  } catch (error) {
    if (await isService(port)) return [{ what, state: "ok", note: `${port} has this service` }];
    const reason = error instanceof Error && "code" in error ? String(error.code) : "";
    const cause = reason === "EADDRINUSE" ? ": another program has it" : "";
    const note = `${port} cannot be used (${reason})${cause}`;
    const other = OTHER_PORTS.find((one) => one !== port);
    return [{ what, state: "missing", note, fix: `SVC_PORT=${other} npm start` }];
  } finally {
    probe.close();
  }
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
