import type { Told } from "./told.ts";
import { isOfBrowsers, type Tool } from "./tool.ts";

const AGAIN = "Try again in a few seconds.";
const IN_VAIN = "Trying again does not help";

type Step = (told: Told, tool: Tool) => string;

/** The next step, by the code of an error. A tool's own errors say it themselves. */
const STEPS: Readonly<Record<string, Step>> = {
  Unauthorized: () => "Check the API key: it is missing, wrong or revoked.",
  ConcurrencyLimitExceeded: limitStep,
  FeatureRequiresPlan: ({ body }) =>
    body.feature === "captcha"
      ? "Call it with captcha: false, or change the plan."
      : "Leave it out, or change the plan.",
  InsufficientCredit: () => `${IN_VAIN}: the org has to add credit.`,
  PlanLimitExceeded: () => `${IN_VAIN}: delete what is no longer needed, or change the plan.`,
  NotEntitled: () => `${IN_VAIN}: the plan has to be changed.`,
  InvalidSessionId: () => "Use a sessionId that svc_browser_create returned.",
  ProfileNotFound: () => "svc_browser_profiles lists the profiles there are.",
  NotRunning: (_told, tool) =>
    isOfBrowsers(tool)
      ? "Create a new one with svc_browser_create."
      : "svc_connect resumes one that is paused.",
  HandoffActive: () =>
    "Wait with svc_browser_await_login until the person is done; a login of the service ends by itself.",
  Timeout: () => "What was asked for may still happen: look before you repeat it.",
  ConnectionFailed: () => "What was asked for may have happened: look before you repeat it.",
  InternalError: () => "If it happens again, report that id.",
};

/** A reason that names a tool says what to do itself. */
const NAMES_A_TOOL = /\bsvc_(?!live_)/;

/** The next step after an error; empty when its reason says all. */
export function nextStep(told: Told, tool: Tool): string {
  if (NAMES_A_TOOL.test(told.reason)) return "";
  const step = Object.hasOwn(STEPS, told.code) ? STEPS[told.code]?.(told, tool) : undefined;
  return step ?? (told.body.retryable === true ? AGAIN : "");
}

function limitStep({ body }: Told): string {
  const { plan, cap, kind, holders = [] } = body;
  const what = kind === "vm" ? "sandboxes and desktops" : "browsers";
  const tool = kind === "vm" ? "svc_kill" : "svc_browser_close";
  const open = holders.length > 0 ? ` (open: ${holders.join(", ")})` : "";
  const fact = plan && cap !== undefined ? `The ${plan} plan allows ${cap} ${what} at once. ` : "";
  return `${fact}${IN_VAIN}: close one with ${tool}${open}.`;
}
