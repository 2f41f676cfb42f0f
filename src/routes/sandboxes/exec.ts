import type { Exec } from "@svc/contract/vm/exec.ts";
import * as z from "zod";
import { ASLEEP } from "../../../durable-objects/sandbox.ts";
import { parseObject } from "../../body.ts";
import type { AppContext, Handler } from "../../context.ts";
import { ownedSandbox } from "./owned.ts";
import { wake } from "./resume.ts";

/**
 * What is sent: only a `cmd` that is none can be wrong, all else counts when it can (document 2, exec). That no program is
 * called so, or can be given that, is the machine's to say.
 */
const SentExec = z.object({
  cmd: z.string(),
  args: z.unknown().optional(),
  cwd: z.unknown().optional(),
  timeoutMs: z.unknown().optional(),
});

export const execInSandbox: Handler = async (c) => {
  const sandbox = await ownedSandbox(c);
  const body = JSON.stringify(await readExec(c));
  const send = () =>
    sandbox.ask((object) => object.fetch("http://sandbox/exec", { method: "POST", body }));
  const answer = await send();
  if (!answer.headers.has(ASLEEP)) return new Response(answer.body, answer);
  await wake(c.env, sandbox.id, c.get("caller"));
  const again = await send();
  return new Response(again.body, again);
};

async function readExec(c: AppContext): Promise<Exec> {
  const sent = await parseObject(c, SentExec);
  const args = Array.isArray(sent.args) ? sent.args.map(asText) : [];
  const cwd = typeof sent.cwd === "string" && sent.cwd !== "" ? sent.cwd : undefined;
  const timeoutMs = Number.isFinite(sent.timeoutMs) ? Number(sent.timeoutMs) : 0;
  return {
    cmd: sent.cmd,
    args,
    ...(cwd !== undefined && { cwd }),
    ...(timeoutMs > 0 && { timeoutMs }),
  };
}

const asText = (arg: unknown): string =>
  typeof arg === "string" ? arg : (JSON.stringify(arg) ?? "");
