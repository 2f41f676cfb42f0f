/** What every command sees before the session's and its own variables. */
const BASE = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LANG: "C.UTF-8",
  USER: "root",
  LOGNAME: "root",
  SHELL: "/bin/bash",
} as const;

/** What programs with windows look for besides (vm-host/images/desktop/desktop.sh). */
export const DESKTOP_ENV = {
  DISPLAY: ":1",
  DBUS_SESSION_BUS_ADDRESS: "unix:path=/run/svc/bus",
  PULSE_SERVER: "unix:/run/svc/pulse",
  XDG_RUNTIME_DIR: "/run/svc",
} as const;

/** The environment of a command: base, session, its own; the later wins. */
export function commandEnv(
  home: string,
  session: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return { ...BASE, HOME: home, ...session, ...own };
}
