const SECOND = 1_000;

/**
 * How long each part of a start may take. Whoever waits for a part waits for all of its time: a host that gave up on a
 * gateway for which its supervisor still waits would tell the banner that its kinds are off.
 */
export const START_TIMES = {
  /** Until the gateway answers: half a minute on a small, busy computer, and several times that on a worse one. */
  gatewayMs: 180 * SECOND,
  /** From then until a host answers: it looks at its computer and removes what a killed run left. */
  hostMs: 60 * SECOND,
  /** From then until a browser is warm: a launch that takes longer does not come in time for anybody. */
  warmBrowserMs: 60 * SECOND,
  /** From then until a machine is warm: its golden machine has to be made at the first start. */
  warmMachineMs: 120 * SECOND,
} as const;

const { gatewayMs, hostMs, warmBrowserMs, warmMachineMs } = START_TIMES;

/** How long the supervisor waits until a host says what it serves: for all that the host itself may wait for. */
export const HOST_START_MS = gatewayMs + hostMs + Math.max(warmBrowserMs, warmMachineMs);
