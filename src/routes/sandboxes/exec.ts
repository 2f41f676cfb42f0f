import type { Refusal } from "@svc/contract/errors.ts";
import type { Exec } from "@svc/contract/vm/exec.ts";
import * as z from "zod";
import type { ResumeFirst } from "../../../durable-objects/sandbox/refusals.ts";
import type { SandboxDO } from "../../../durable-objects/sandbox.ts";
import { accepted } from "../../accepted.ts";
import { parseObject } from "../../body.ts";
import type { AppContext, Handler } from "../../context.ts";
import { ownedSandbox } from "./owned.ts";
import { askAwake } from "./wake.ts";

/**
 * What is sent: only `cmd` is checked; other fields that are of the wrong type are ignored (document 2, exec). Whether
 * there is such a program, and whether it can be run so, the machine says.
 */
const SentExec = z.object({
  cmd: z.string(),
  args: z.unknown().optional(),
  cwd: z.unknown().optional(),
  timeoutMs: z.unknown().optional(),
});

export const execInSandbox: Handler = async (c) => {
  const { id } = await ownedSandbox(c);
  const body = JSON.stringify(await readExec(c));
  const send = async (sandbox: DurableObjectStub<SandboxDO>) => {
    const answer = await sandbox.fetch("http://sandbox/exec", { method: "POST", body });
    return answer.ok ? { answer } : answer.json<Refusal | ResumeFirst>();
  };
  const { answer } = accepted(await askAwake(c.env, id, send, c.get("caller")));
  return new Response(answer.body, answer);
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
