/** How the program ends. `sandbox exec` ends with the exit code of its command instead, and with `execFailed` when it ran none. */
export const EXIT = {
  ok: 0,
  /** The service or the machine refused, or what was asked for failed. */
  refused: 1,
  /** The command line, the settings or a file is wrong: nothing was asked of the service. */
  usage: 2,
  /** No whole answer came: nothing listens there, or the time was over. */
  unreachable: 3,
  /** `sandbox exec` could not run its command, as with `docker exec`. */
  execFailed: 125,
  /** Ctrl-C. */
  interrupted: 130,
  /** Whoever read the output has left, as `head` does. */
  brokenPipe: 141,
} as const;

export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: "It is done.",
  refused: "The service or the machine refused, or what was asked for failed.",
  usage: "The command line, the settings or a file is wrong: nothing was asked of the service.",
  unreachable: "No whole answer came: nothing listens at the URL, or the time was over.",
  execFailed: "`svc sandbox exec` could not run its command. Otherwise it ends as its command did.",
  interrupted: "Ctrl-C.",
  brokenPipe: "Whoever read the output has left, as `head` does.",
};
