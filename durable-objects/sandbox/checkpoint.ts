import { changeVm } from "../host-calls/vm-states.ts";
import { wantsCheckpoint } from "./duties.ts";
import { factsOfSaved } from "./machine-change.ts";
import { isPlaced, type LiveSandbox } from "./record.ts";

/** Has the host keep the machine as it is at this moment, in case that host dies. */
export function checkpoint({ env, record, lane }: LiveSandbox): Promise<void> {
  return lane.run(async () => {
    const sandbox = record.tick();
    if (!isPlaced(sandbox) || !wantsCheckpoint(sandbox.state)) return;
    const answer = await changeVm(env, sandbox.place.url, sandbox, "checkpoint");
    if (answer.type !== "ok") throw new Error(`the checkpoint was not taken: ${answer.type}`);
    const { isDurable, ...facts } = await factsOfSaved(env, sandbox, answer.value);
    record.apply({ type: "checkpointed", at: Date.now(), isDurable }, facts);
  });
}
