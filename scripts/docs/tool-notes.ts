/** Facts of a tool that no schema says: the fields of its answer, and the errors of its own. */
export interface ToolNote {
  /** The answer of a tool that answers content alone. Other tools have theirs from the output schema. */
  answer?: string;
  errors: readonly string[];
}

const shown = "with `screenshot` also a picture";
const onPage = { answer: `\`url\`, \`title\`, \`navigated\`; ${shown}` };
const onDesktop = { answer: `\`ok\`; ${shown}` };
const lost = ["NotRunning", "HandoffActive"];
const desktop = ["DesktopOnly", "NotRunning"];

/** The notes by the names of the tools. docs/TOOLS.md has the order of `mcp/tools/index.ts`. */
export const TOOL_NOTES: Readonly<Record<string, ToolNote>> = {
  svc_browser_create: {
    errors: [
      "FeatureRequiresPlan",
      "ConcurrencyLimitExceeded",
      "ProfileNotFound",
      "ValidationError",
      "AcquireTimeout",
    ],
  },
  svc_browser_navigate: { errors: ["NavigationFailed", "Timeout", ...lost] },
  svc_browser_read_page: {
    answer:
      "`url`, `title`, `format`, `totalChars`, `truncated`, `nextOffset` when there is more; then the text",
    errors: ["ElementNotFound", ...lost],
  },
  svc_browser_screenshot: {
    answer: "`url`, `title`, `width`, `height`, `scale`; then a JPEG",
    errors: ["ElementNotFound", ...lost],
  },
  svc_browser_click: {
    answer: `\`url\`, \`title\`, \`navigated\`, \`opened\` with the tabs that it opened; ${shown}`,
    errors: ["ElementNotFound", "ElementNotVisible", "ElementObscured", ...lost],
  },
  svc_browser_type: { ...onPage, errors: ["ElementNotFound", "NotEditable", ...lost] },
  svc_browser_key: { ...onPage, errors: ["UnknownKey", "ElementNotFound", ...lost] },
  svc_browser_evaluate: {
    answer: "`type`, `value`, `truncated`",
    errors: ["EvaluationFailed", "Timeout", ...lost],
  },
  svc_browser_replay_url: { errors: ["ReplayPending", "ReplayUnavailable"] },
  svc_browser_login: { errors: ["HandoffActive", "InvalidSessionId", "NotRunning"] },
  svc_browser_await_login: { errors: ["NoHandoff", "InvalidSessionId"] },
  svc_browser_autologin_status: { errors: ["NoProfile"] },
  svc_browser_autologin_site: {
    errors: ["NoProfile", "NoSavedLogin", "OriginMismatch", "HandoffActive"],
  },
  svc_browser_save_profile: {
    errors: ["ProfileLocked", "ProfileVersionConflict", "PayloadTooLarge", "PlanLimitExceeded"],
  },
  svc_browser_profiles: { errors: [] },
  svc_browser_close: { answer: "`released`", errors: ["InvalidSessionId"] },
  svc_sandbox_create: {
    errors: ["ValidationError", "ConcurrencyLimitExceeded", "NoCapacity", "InsufficientCapacity"],
  },
  svc_desktop_create: {
    errors: ["FeatureRequiresPlan", "NotEntitled", "ConcurrencyLimitExceeded", "NoCapacity"],
  },
  svc_exec: {
    answer: "`exitCode`, `timedOut`, `stdout`, `stderr`, `truncated`",
    errors: ["NotRunning", "NotStarted"],
  },
  svc_run_command_bg: {
    answer: "`pid`, `running`, `stdoutPath`, `stderrPath`, `output`, `exitCode` once it has ended",
    errors: ["NotRunning", "NotStarted"],
  },
  svc_run_code: {
    answer: "`stdout`, `stderr`, `results`, `charts`, `error` when the code failed; then pictures",
    errors: ["NotRunning", "InvalidParams"],
  },
  svc_read_file: {
    answer:
      "`path`, `size`, `truncated`, `nextOffset` when there is more, `downloadUrl`; then the text, or a picture",
    errors: ["NotFound", "IsDirectory", "InvalidPath", "NotRunning"],
  },
  svc_write_file: {
    answer: "`path`, `bytes`",
    errors: ["InvalidPath", "PermissionDenied", "NotRunning"],
  },
  svc_list_files: {
    answer: "`path`, `truncated`, `entries`",
    errors: ["NotFound", "NotDirectory", "NotRunning"],
  },
  svc_get_preview_url: { answer: "`url`, `token`", errors: ["NotConfigured", "NotRunning"] },
  svc_screenshot: { answer: "`width`, `height`, `cursor`; then a picture", errors: desktop },
  svc_click: { ...onDesktop, errors: ["OutOfBounds", ...desktop] },
  svc_type: { ...onDesktop, errors: desktop },
  svc_key: { ...onDesktop, errors: ["UnknownKey", ...desktop] },
  svc_open_app: { answer: `\`ok\`, \`pid\`; ${shown}`, errors: ["NotFound", ...desktop] },
  svc_mouse_move: { ...onDesktop, errors: ["OutOfBounds", ...desktop] },
  svc_mouse_down: { answer: "`ok`, `heldSecondsMost`", errors: desktop },
  svc_mouse_up: { answer: "`ok`", errors: desktop },
  svc_drag: { ...onDesktop, errors: ["OutOfBounds", ...desktop] },
  svc_list: { errors: [] },
  svc_connect: { errors: ["ConcurrencyLimitExceeded", "InsufficientCredit", "NotFound"] },
  svc_kill: { answer: "`ok`", errors: ["NotFound"] },
};
