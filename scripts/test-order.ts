import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** About how many seconds a file takes on two quiet processors. What is not named takes `OTHER_SECONDS`. */
const SECONDS: Readonly<Record<string, number>> = {
  "test/vm-host/machines/faults.test.ts": 80,
  "test/vm-host/machines/machines.test.ts": 30,
  "test/vm-host/states/states.test.ts": 60,
  "test/vm-host/states/faults.test.ts": 55,
  "test/vm-host/states/durable.test.ts": 40,
  "test/vm-host/states/kill-points.test.ts": 85,
  "test/vm-host/states/sudden-ends.test.ts": 40,
  "test/vm-host/states/full-disk.test.ts": 11,
  "test/vm-host/shared/isolation.test.ts": 50,
  "test/vm-host/shared/states.test.ts": 40,
  "test/vm-host/shared/weight.test.ts": 35,
  "test/vm-host/volumes/faults.test.ts": 90,
  "test/vm-host/volumes/live.test.ts": 75,
  "test/vm-host/volumes/live-image.test.ts": 30,
  "test/vm-host/volumes/volumes.test.ts": 40,
  "test/vm-host/volumes/paths.test.ts": 30,
  "test/vm-host/volumes/race.test.ts": 6,
  "test/vm-host/network/network.test.ts": 30,
  "test/vm-host/builds/builds.test.ts": 60,
  "test/vm-host/builds/faults.test.ts": 60,
  "test/vm-host/builds/packages.test.ts": 30,
  "test/vm-host/server/forged.test.ts": 6,
  "test/end-to-end/template.test.ts": 100,
  "test/end-to-end/two-hosts.test.ts": 75,
  "test/end-to-end/sandbox-doors.test.ts": 30,
  "test/end-to-end/sandbox-faults.test.ts": 50,
  "test/end-to-end/sandbox.test.ts": 20,
  "test/end-to-end/rests.test.ts": 45,
  "test/end-to-end/snapshots.test.ts": 45,
  "test/end-to-end/shared.test.ts": 40,
  "test/end-to-end/volumes.test.ts": 40,
  "test/start/machines.test.ts": 25,
  "test/start/ready.test.ts": 25,
  "test/start/life.test.ts": 40,
  "test/browser-pool/playwright.test.ts": 40,
  "test/browser-pool/lifetime.test.ts": 40,
  "test/browser-pool/profile.test.ts": 30,
  "test/browser-pool/ends.test.ts": 25,
  "test/conformance/conformance.test.ts": 60,
  "test/conformance/vm-conformance.test.ts": 45,
  "test/end-to-end/faults.test.ts": 60,
};
const OTHER_SECONDS = 3;

/** Files that run emulated machines. Machines of two files at once slow each other down far beyond twice. */
const MACHINES =
  /^test\/(vm-host\/|end-to-end\/(template|two-hosts|sandbox|rests|snapshots|shared|volumes)|start\/(machines|ready))/;

/**
 * The order of test files for two workers: one is mostly at files with machines, which take processors, while the other is at
 * all other files, which mostly wait. In each of the two lanes the longest come first; a file's turn is when its lane is free.
 */
export default class TestOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const longestFirst = files.toSorted((one, other) => secondsOf(other) - secondsOf(one));
    const lanes = [true, false].map((isMachines) =>
      longestFirst.filter((file) => MACHINES.test(pathOf(file)) === isMachines),
    );
    return lanes
      .flatMap(turnsOf)
      .toSorted((one, other) => one.at - other.at)
      .map(({ file }) => file);
  }
}

interface Turn {
  file: TestSpecification;
  /** Seconds after the start, were each lane a worker. */
  at: number;
}

function turnsOf(lane: TestSpecification[]): Turn[] {
  let at = 0;
  return lane.map((file) => {
    const turn = { file, at };
    at += secondsOf(file);
    return turn;
  });
}

const pathOf = ({ moduleId }: TestSpecification): string => relative("", moduleId);

const secondsOf = (file: TestSpecification): number => SECONDS[pathOf(file)] ?? OTHER_SECONDS;
