import type { PlaceVm } from "@svc/contract/host-protocol/vms.ts";
import { defaultsOf, newSelf } from "../guest/identity.ts";
import type { Recipe } from "../machines/vms.ts";
import type { RecordKeeper } from "../snapshots/keeper.ts";
import type { Kept } from "../snapshots/store.ts";

/** How a machine is made that begins where another one was saved, and is somebody else. Throws `NotRestorable`. */
export async function forkOf(
  keeper: RecordKeeper,
  kept: Kept,
  { envs, isolation }: Pick<PlaceVm, "envs" | "isolation">,
  hasEgress: boolean,
): Promise<Recipe> {
  const rest = await keeper.restOf(kept);
  const hasNetwork = isolation !== "hardened" && hasEgress;
  const before = kept.record.self;
  const self = { ...newSelf({ ...before.envs, ...envs }, hasNetwork), ...defaultsOf(before) };
  const make = async () => {
    const { machine, guest } = await keeper.start(kept, self, true, rest);
    return { machine, guest, how: "fork" as const };
  };
  return { spec: rest.spec, make, isIdentified: true, diskGb: rest.diskGb };
}
