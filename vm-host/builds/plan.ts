import type { BuildStep } from "@svc/contract/vm/template-steps.ts";
import { hashOf } from "../images/recipe.ts";

/** Counts up when the same steps make something else. */
const FORMAT = 1;

/** What the steps so far have set for the steps that follow, and for machines of the template. */
export interface Setting {
  envs: Record<string, string>;
  cwd: string | undefined;
  user: string | undefined;
}

/** A step, what is set when it runs, and the key of its result. */
export interface PlannedStep {
  /** Counted from 1. */
  number: number;
  step: BuildStep;
  before: Setting;
  /** The hash of all that led here, this step included. */
  key: string;
  /** Done anew each time, for it costs nothing: no result is kept. */
  isLight: boolean;
}

const LIGHT: ReadonlySet<BuildStep["type"]> = new Set(["env", "workdir", "user"]);

/** What a build does, from what it begins with, `parent`. */
export function planOf(
  parent: string,
  steps: readonly BuildStep[],
  first: Setting,
): { steps: PlannedStep[]; last: Setting } {
  // The word of earlier versions: with another one no result would be found again.
  let key = hashOf("layer", FORMAT, parent);
  let before = first;
  const planned = steps.map((step, at): PlannedStep => {
    key = hashOf(key, step);
    const one = { number: at + 1, step, before, key, isLight: LIGHT.has(step.type) };
    before = after(before, step);
    return one;
  });
  return { steps: planned, last: before };
}

function after(before: Setting, step: BuildStep): Setting {
  switch (step.type) {
    case "env":
      return { ...before, envs: { ...before.envs, ...step.envs } };
    case "workdir":
      return { ...before, cwd: step.path };
    case "user":
      return { ...before, user: step.name };
    case "apt":
    case "pip":
    case "npm":
    case "run":
    case "write":
    case "git":
      return before;
  }
}

/** What a step is called in the log. */
export function titleOf(step: BuildStep): string {
  switch (step.type) {
    case "apt":
    case "pip":
    case "npm":
      return `${step.type} ${step.packages.join(" ")}`;
    case "run":
      return `run ${step.cmd}`;
    case "env":
      return `env ${Object.keys(step.envs).join(" ")}`;
    case "workdir":
    case "write":
      return `${step.type} ${step.path}`;
    case "user":
      return `user ${step.name}`;
    case "git":
      return `git ${step.url} ${step.path}`;
  }
}
