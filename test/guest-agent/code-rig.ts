import { spawnSync } from "node:child_process";
import { type AgentRig, type Heard, Output } from "./rig.ts";

const python = spawnSync("/usr/bin/python3", ["-c", "import IPython, pandas, matplotlib"]);

/** Why this machine can run no Python contexts, or nothing. */
export const missingPython =
  python.status === 0 ? undefined : "python3-ipython, python3-pandas and python3-matplotlib";

if (missingPython && process.env.CI) throw new Error(`CI must have ${missingPython}`);

/** Runs code in a context on a connection of its own. */
export function runCode(
  rig: AgentRig,
  code: string,
  context = "default",
  more: { timeoutMs?: number } = {},
) {
  return rig.bulk.customer().client.ask("code.run", { code, context, ...more });
}

/** Asks to run code. Returns when the run has its id: with the connection, the output so far and the answer to come. */
export async function beginCode(
  rig: AgentRig,
  code: string,
  context: string,
  { stream = false } = {},
) {
  const { client, connection } = rig.bulk.customer();
  const output = new Output();
  const before = rig.bulk.heard.length;
  const { onBytes } = output;
  const { result } = client.call("code.run", { code, context, stream }, { onBytes });
  const isStart = (heard: Heard): boolean =>
    rig.bulk.heard.indexOf(heard) >= before &&
    heard.method === "code.started" &&
    heard.params["context"] === context;
  const { params } = await rig.bulk.hears(isStart);
  return { client, connection, output, result, run: String(params["run"]) };
}
