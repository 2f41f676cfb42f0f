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
const ofSaves = ["ProfileLocked", "ProfileVersionConflict", "PayloadTooLarge"];
const noElement = ["ElementNotFound", "InvalidSelector"];

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
    errors: [...noElement, "PageTooLarge", ...lost],
  },
  svc_browser_screenshot: {
    answer: "`url`, `title`, `width`, `height`, `scale`; then a JPEG",
    errors: [...noElement, "ElementNotVisible", ...lost],
  },
  svc_browser_click: {
    answer: `\`url\`, \`title\`, \`navigated\`, \`opened\` with the tabs that it opened; ${shown}`,
    errors: [...noElement, "ElementNotVisible", "ElementObscured", "OutOfBounds", ...lost],
  },
  svc_browser_type: { ...onPage, errors: [...noElement, "NotEditable", "OutOfBounds", ...lost] },
  svc_browser_key: {
    ...onPage,
    errors: ["UnknownKey", ...noElement, "NotEditable", "OutOfBounds", ...lost],
  },
  svc_browser_evaluate: {
    answer: "`type`, `truncated`; then the value as text",
    errors: ["EvaluationFailed", "Timeout", ...lost],
  },
  svc_browser_replay_url: { errors: ["ReplayPending", "ReplayUnavailable", "ReplayNotFound"] },
  svc_browser_login: { errors: ["NavigationFailed", "Timeout", "InvalidSessionId", ...lost] },
  svc_browser_await_login: {
    errors: ["NoHandoff", "InvalidSessionId", "NotRunning", ...ofSaves],
  },
  svc_browser_autologin_status: { errors: ["NoProfile", "ProfileNotFound", "NotRunning"] },
  svc_browser_autologin_site: {
    errors: [
      "NoProfile",
      "ProfileNotFound",
      "NoSavedLogin",
      "OriginMismatch",
      "NotConfigured",
      ...lost,
    ],
  },
  svc_browser_save_profile: {
    errors: ["ProfileNotFound", ...ofSaves, "PlanLimitExceeded", ...lost],
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
    errors: ["InvalidPath", "NotRunning"],
  },
  svc_run_command_bg: {
    answer:
      "`pid`, `running`, `stdoutPath`, `stderrPath`, `exitPath`, `output`, `exitCode` once it has ended, `listening` with `waitForPort`",
    errors: ["InvalidPath", "NotRunning", "NotStarted"],
  },
  svc_run_code: {
    answer: "`stdout`, `stderr`, `results`, `charts`, `error` when the code failed; then pictures",
    errors: ["NotRunning", "InvalidParams"],
  },
  svc_read_file: {
    answer:
      "`path`, `size`, `truncated`, `nextOffset` when there is more, `downloadUrl` of what is cut or binary; then the text, or a picture",
    errors: ["NotFound", "IsDirectory", "InvalidPath", "NotRunning"],
  },
  svc_write_file: {
    answer: "`path`, `bytes`",
    errors: ["InvalidPath", "IsDirectory", "InvalidContent", "PermissionDenied", "NotRunning"],
  },
  svc_list_files: {
    answer: "`path`, `truncated`, `entries`",
    errors: ["NotFound", "NotDirectory", "NotRunning"],
  },
  svc_get_preview_url: { errors: ["NotConfigured", "NotRunning"] },
  svc_screenshot: { answer: "`width`, `height`, `cursor`; then a picture", errors: desktop },
  svc_click: { ...onDesktop, errors: ["OutOfBounds", ...desktop] },
  svc_type: { ...onDesktop, errors: ["TooLong", ...desktop] },
  svc_key: { ...onDesktop, errors: ["UnknownKey", ...desktop] },
  svc_open_app: { answer: `\`ok\`, \`pid\`; ${shown}`, errors: ["NotFound", ...desktop] },
  svc_mouse_move: { ...onDesktop, errors: ["OutOfBounds", ...desktop] },
  svc_mouse_down: { answer: "`ok`, `heldSecondsMost`", errors: desktop },
  svc_mouse_up: { answer: "`ok`", errors: desktop },
  svc_drag: { ...onDesktop, errors: ["OutOfBounds", ...desktop] },
  svc_list: { errors: [] },
  svc_connect: { errors: ["ConcurrencyLimitExceeded", "InsufficientCredit", "Gone"] },
  svc_kill: { answer: "`ok`", errors: ["InvalidSessionId"] },
};
