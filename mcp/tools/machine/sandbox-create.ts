import { VM_SIZES } from "@svc/contract/vm/machine.ts";
import * as z from "zod";
import { size, whenMade } from "../../machine/creation.ts";
import { defineTool } from "../../tool.ts";

export const sandboxCreate = defineTool({
  name: "svc_sandbox_create",
  title: "Start sandbox",
  description:
    "Start a billable headless Linux microVM. It pauses when idle and svc_connect resumes it; svc_kill destroys it.",
  input: z.strictObject({
    template: z.string().default("base").describe("base, or a tpl_ id"),
    fromSnapshot: z.string().optional().describe("Fork this snapshot; template is then ignored"),
    cpu: size(VM_SIZES.cpu),
    memMb: size(VM_SIZES.memMb),
    diskGb: size(VM_SIZES.diskGb),
    isolation: z
      .enum(["dedicated", "hardened", "shared"])
      .default("dedicated")
      .describe(
        "hardened: without network. shared: a part of a microVM, at most 4 cpu and 2048 MiB",
      ),
    timeoutMs: z
      .int()
      .min(1000)
      .optional()
      .describe("Idle time after which it pauses; 2 h unless said"),
    envs: z.record(z.string(), z.string()).optional(),
    volumes: z
      .array(z.strictObject({ volumeId: z.string(), path: z.string() }))
      .optional()
      .describe("Storage that outlives the machine, each at an absolute path"),
  }),
  output: z.looseObject({
    sessionId: z.string(),
    kind: z.string(),
    expiresAt: z.string(),
    cpu: z.number(),
    memMb: z.number(),
    diskGb: z.number(),
    isolation: z.string(),
  }),
  hints: {},
  turn: "none",
  async run(wanted, { svc, signal, progress }) {
    progress("A sandbox is being started");
    const { id, created } = await whenMade(svc.sandboxes.create(wanted), signal);
    const { kind, expiresAt, cpu, memMb, diskGb, isolation } = created ?? {};
    return { json: { sessionId: id, kind, expiresAt, cpu, memMb, diskGb, isolation } };
  },
});
