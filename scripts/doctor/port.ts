import { once } from "node:events";
import { createServer } from "node:net";
import { Health } from "@svc/contract/browser/health.ts";
import { START_SETTINGS } from "../start/settings.ts";
import type { Finding } from "./finding.ts";

const ANSWER_MS = 5_000;

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
    const note = `${port} cannot be used (${reason}): another program has it`;
    return [{ what, state: "missing", note, fix: "SVC_PORT=8788 npm start" }];
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
