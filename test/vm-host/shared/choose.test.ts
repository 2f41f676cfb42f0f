import { expect, test } from "vitest";
import {
  type Holder,
  type ShareWish,
  chooseMachine,
  freeMb,
  missingForShare,
  shareMemory,
} from "../../../vm-host/shared/choose.ts";
import { PLAIN } from "../rig/rig.ts";

const RUNS = 300;
const STEPS = 60;

interface Machine extends Holder {
  shares: ShareWish[];
}

/** Whole numbers below `most`; the same for the same seed. */
function diceOf(seed: number): (most: number) => number {
  let state = seed + 1;
  return (most) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}

/** Places a share, and says what is wrong with where it went. */
function place(machines: Machine[], wish: ShareWish): string[] {
  const choice = chooseMachine(wish, machines);
  const { org, bootKey } = wish;
  const name = "name" in choice ? choice.name : `m${machines.length}`;
  if (!("name" in choice)) machines.push({ name, org, bootKey, ...choice, shares: [] });
  const machine = machines.find((one) => one.name === name);
  machine?.shares.push(wish);
  return machine && machine.cpu >= wish.cpu ? [] : [`${name} cannot hold it`];
}

function faultsOf(machine: Machine): string[] {
  const { name, org, bootKey, shares } = machine;
  return [
    shares.some((share) => share.org !== org) ? `${name} holds two orgs` : "",
    shares.some((share) => share.bootKey !== bootKey) ? `${name} holds two grounds` : "",
    freeMb(machine) < 0 ? `${name} has promised more than it has` : "",
  ].filter(Boolean);
}

test("no machine ever holds two orgs, two grounds, or more than it has, whatever comes and goes", () => {
  const faults: string[] = [];
  let together = 0;
  for (let seed = 0; seed < RUNS; seed += 1) {
    const dice = diceOf(seed);
    const machines: Machine[] = [];
    for (let step = 0; step < STEPS; step += 1) {
      const wish: ShareWish = {
        org: `org_${dice(3)}`,
        bootKey: `base+${dice(2)}`,
        cpu: 1 + dice(4),
        memMb: 128 + dice(1_921),
        diskGb: 1 + dice(20),
      };
      if (dice(4) === 0) machines[dice(machines.length)]?.shares.pop();
      else faults.push(...place(machines, wish));
    }
    faults.push(...machines.flatMap(faultsOf));
    together += machines.filter(({ shares }) => shares.length > 1).length;
  }
  expect(faults).toEqual([]);
  // Else nothing was tried.
  expect(together).toBeGreaterThan(RUNS);
});

test("a share goes where it fits before a machine is made, and into the fullest one", () => {
  const wish: ShareWish = { org: "org_a", bootKey: "g", cpu: 2, memMb: 512, diskGb: 4 };
  const size = { cpu: 2, memMb: 2_048 };
  const empty: Machine = { name: "empty", org: "org_a", bootKey: "g", ...size, shares: [] };
  const half: Machine = { ...empty, name: "half", shares: [wish] };
  expect(chooseMachine(wish, [empty, half])).toEqual({ name: "half" });
  expect(chooseMachine({ ...wish, org: "org_b" }, [empty, half])).toEqual(size);
  const large = { ...wish, cpu: 4, memMb: 2_048 };
  expect(chooseMachine(large, [empty, half])).toEqual({ cpu: 4, memMb: 4_096 });
});

test("what cannot run its own agent is made larger, and says so", () => {
  expect([1, 127, 128, 512].map(shareMemory)).toEqual([128, 128, 128, 512]);
});

test("only what begins from an image, without volumes, can be a share", () => {
  const shared = { ...PLAIN, isolation: "shared" } as const;
  const snapshot = { type: "snapshot", id: "snap_1", recordPath: "" } as const;
  const volumes = [{ volumeId: "vol_1", path: "/data", epoch: 1 }];
  expect(missingForShare(shared)).toEqual([]);
  expect(missingForShare({ ...shared, source: snapshot, volumes })).toEqual([
    "isolation.shared.templates",
    "isolation.shared.volumes",
  ]);
  expect(missingForShare({ ...PLAIN, source: snapshot, volumes })).toEqual([]);
});
