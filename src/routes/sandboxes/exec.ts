import { ApiError } from "@svc/contract/errors.ts";
import type { Exec } from "@svc/contract/vm/exec.ts";
import * as z from "zod";
import { ASLEEP } from "../../../durable-objects/sandbox.ts";
import { parseObject } from "../../body.ts";
import type { AppContext, Handler } from "../../context.ts";
import { ownedSandbox } from "./owned.ts";
import { wake } from "./resume.ts";

/** What is sent: only `cmd` can be wrong, all else counts when it can (document 2, exec). */
const SentExec = z.object({
  cmd: z.string().min(1).max(4096),
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
  checkNul({ cmd: sent.cmd, cwd, args: args.join("") });
  return {
    cmd: sent.cmd,
    args,
    ...(cwd !== undefined && { cwd }),
    ...(timeoutMs > 0 && { timeoutMs }),
  };
}

const asText = (arg: unknown): string =>
  typeof arg === "string" ? arg : (JSON.stringify(arg) ?? "");

/** No program can be given one: it would end the text there. */
function checkNul(fields: Record<string, string | undefined>): void {
  for (const [field, text] of Object.entries(fields)) {
    if (!text?.includes("\0")) continue;
    throw new ApiError("ValidationError", `${field}: has a NUL character`, { field });
  }
}
