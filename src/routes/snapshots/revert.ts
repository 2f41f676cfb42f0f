import type { SandboxResumed } from "@svc/contract/vm/sandbox.ts";
import { RevertSandbox } from "@svc/contract/vm/snapshot.ts";
import { accepted } from "../../accepted.ts";
import { parseObject } from "../../body.ts";
import { baseUrlOf, type Handler } from "../../context.ts";
import { noSandbox, ownedSandbox } from "../sandboxes/owned.ts";
import { controlUrlOf } from "../sandboxes/record.ts";
import { admissionOf, checkResume } from "../sandboxes/resume.ts";

export const revertSandbox: Handler = async (c) => {
  const sandbox = await ownedSandbox(c);
  const { id } = sandbox;
  const { snapshotId } = await parseObject(c, RevertSandbox);
  const view = await sandbox.ask((object) => object.look());
  if (!view || view.goneAt !== null) throw noSandbox();
  const caller = c.get("caller");
  if (view.state === "paused") await checkResume(c.env, view.kind, caller);
  const admission = await admissionOf(c.env, caller);
  accepted(await sandbox.ask((object) => object.revert({ snapshotId, admission })));
  const body: SandboxResumed = { state: "running", controlUrl: controlUrlOf(baseUrlOf(c), id) };
  return c.json(body);
};
