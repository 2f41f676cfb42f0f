import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** About how many seconds a file takes on two quiet processors. What is not named takes `OTHER_SECONDS`. */
const SECONDS: Readonly<Record<string, number>> = {
  "test/end-to-end/recordings.test.ts": 250,
  "test/vm-host/images/image.test.ts": 200,
  "test/vm-host/hostile/fuzz.test.ts": 200,
  "test/vm-host/desktops/desktops.test.ts": 150,
  "test/vm-host/desktops/recording.test.ts": 150,
  "test/end-to-end/desktop-lives.test.ts": 140,
  "test/vm-host/volumes/faults.test.ts": 110,
  "test/vm-host/desktops/computer.test.ts": 150,
  "test/mcp/machine/real-machines.test.ts": 60,
  "test/mcp/every-tool.test.ts": 50,
  "test/vm-host/volumes/volumes.test.ts": 95,
  "test/vm-host/images/on-use.test.ts": 90,
  "test/docs/programs.test.ts": 65,
  "test/vm-host/volumes/live.test.ts": 83,
  "test/vm-host/builds/packages.test.ts": 73,
  "test/vm-host/states/kill-points.test.ts": 73,
  "test/vm-host/states/states.test.ts": 73,
  "test/end-to-end/snapshots.test.ts": 71,
  "test/vm-host/shared/states.test.ts": 71,
  "test/vm-host/states/sudden-ends.test.ts": 71,
  "test/vm-host/shared/isolation.test.ts": 69,
  "test/vm-host/machines/machines.test.ts": 66,
  "test/vm-host/states/durable.test.ts": 59,
  "test/end-to-end/sandbox-doors.test.ts": 55,
  "test/vm-host/volumes/live-image.test.ts": 54,
  "test/vm-host/machines/faults.test.ts": 53,
  "test/vm-host/builds/builds.test.ts": 52,
  "test/vm-host/states/faults.test.ts": 52,
  "test/vm-host/volumes/paths.test.ts": 52,
  "test/sdk/machines.test.ts": 52,
  "test/end-to-end/two-hosts.test.ts": 51,
  "test/vm-host/network/network.test.ts": 46,
  "test/end-to-end/template.test.ts": 44,
  "test/start/machines.test.ts": 43,
  "test/vm-host/shared/weight.test.ts": 41,
  "test/start/ready.test.ts": 39,
  "test/end-to-end/rests.test.ts": 34,
  "test/end-to-end/novnc.test.ts": 36,
  "test/end-to-end/shared.test.ts": 32,
  "test/end-to-end/sandbox.test.ts": 26,
  "test/vm-host/builds/faults.test.ts": 25,
  "test/end-to-end/sandbox-faults.test.ts": 19,
  "test/end-to-end/volumes.test.ts": 17,
  "test/vm-host/states/full-disk.test.ts": 16,
  "test/start/life.test.ts": 59,
  "test/browser-pool/lifetime.test.ts": 56,
  "test/browser-pool/clock.test.ts": 47,
  "test/browser-pool/ends.test.ts": 45,
  "test/browser-pool/profile-budget.test.ts": 44,
  "test/browser-pool/profile-loading.test.ts": 44,
  "test/browser-pool/traffic.test.ts": 41,
  "test/end-to-end/browser.test.ts": 38,
  "test/gateway/sockets/upgrade.test.ts": 38,
  "test/conformance/conformance.test.ts": 34,
  "test/gateway/sessions/background-release.test.ts": 34,
  "test/end-to-end/autologin.test.ts": 70,
  "test/end-to-end/handoff.test.ts": 40,
  "test/end-to-end/live-page.test.ts": 40,
  "test/browser-pool/playwright.test.ts": 29,
  "test/browser-pool/contexts.test.ts": 28,
  "test/end-to-end/faults.test.ts": 26,
  "test/gateway/sessions/profile.test.ts": 24,
  "test/house/tally.test.ts": 22,
  "test/start/state.test.ts": 22,
  "test/gateway/sandboxes/lifecycle.test.ts": 20,
  "test/durable-objects/sandbox/find-host.test.ts": 19,
  "test/browser-pool/placement.test.ts": 18,
  "test/durable-objects/session/claim.test.ts": 18,
  "test/gateway/sessions/bad-input.test.ts": 18,
  "test/durable-objects/host/silence.test.ts": 17,
  "test/durable-objects/sandbox/attempts.test.ts": 16,
  "test/house/lint.test.ts": 16,
  "test/durable-objects/session/session.test.ts": 15,
  "test/end-to-end/docs-page.test.ts": 18,
  "test/browser-pool/customer.test.ts": 13,
  "test/durable-objects/template/faults.test.ts": 13,
  "test/guest-agent/channel.test.ts": 13,
  "test/browser-pool/profile.test.ts": 12,
  "test/conformance/vm-conformance.test.ts": 12,
  "test/end-to-end/object-store.test.ts": 12,
  "test/gateway/sessions/domains-faults.test.ts": 12,
  "test/browser-pool/egress.test.ts": 10,
  "test/browser-pool/wire-versions.test.ts": 10,
};
const OTHER_SECONDS = 3;

/** Files that run emulated machines. Machines of two files at once slow each other down far beyond twice. */
const MACHINES =
  /^test\/(vm-host\/|end-to-end\/(template|two-hosts|sandbox|rests|snapshots|shared|volumes)|start\/(machines|ready)|sdk\/machines|docs\/programs)/;

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
