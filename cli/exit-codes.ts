/** The exit codes of the program; EXIT_MEANINGS says when. `execFailed` is that of `docker exec`. */
export const EXIT = {
  ok: 0,
  refused: 1,
  usage: 2,
  unreachable: 3,
  execFailed: 125,
  interrupted: 130,
  brokenPipe: 141,
} as const;

/** The meaning of each exit code, as docs/CLI.md tells it. */
export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: "It is done.",
  refused: "The service or the machine refused, or what was asked for failed.",
  usage: "The command line, the settings or a file is wrong: nothing was asked of the service.",
  unreachable: "No whole answer came: nothing listens at the URL, or the time was over.",
  execFailed: "`svc sandbox exec` could not run its command. Otherwise it ends as its command did.",
  interrupted: "Ctrl-C.",
  brokenPipe: "The reader of the output has left, as `head` does.",
};
