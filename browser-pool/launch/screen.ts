/** The screen of a browser of kind `stealth`: that of a desktop. */
export const SCREEN = { width: 1920, height: 1080 };

// The pipe is gone once the number of the display was read: an Xvfb that ends from then on takes the browser with it, as the
// window of the browser is lost. Xvfb gets neither end of the debugging pipe (3 and 4).
const SCRIPT = `
xvfb=$1; shift
mkfifo /tmp/display || exit 1
{
  "$xvfb" -displayfd 6 -screen 0 ${SCREEN.width}x${SCREEN.height}x24 -nolisten tcp -noreset 6>/tmp/display 2>/tmp/screen.log
  [ -e /tmp/display ] || kill -KILL $$
} 3<&- 4>&- &
read -r number </tmp/display || { echo "Xvfb does not start: $(head -n 1 /tmp/screen.log)" >&2; exit 1; }
rm /tmp/display
export DISPLAY=":$number"
exec "$@"`;

/**
 * The command that runs a browser on a screen of its own. Browser and Xvfb share the sandbox of the slot and its end: nobody
 * outside reaches the socket of the screen, which lies in the slot's own \`/tmp\`.
 */
export function onScreen(xvfb: string, command: string[]): string[] {
  return ["/bin/sh", "-c", SCRIPT, "sh", xvfb, ...command];
}

// Debian's Chromium has them forbidden: frames of other sites would have neither cookies nor storage, unlike in Chrome.
const PREFERENCES = { profile: { cookie_controls_mode: 0 } };
const PREPARE = `
mkdir -p "$1/Default" && printf %s "$2" >"$1/Default/Preferences" || exit 1
shift 2
exec "$@"`;

/** The command that runs a browser with the preferences of a person who has changed none of Chrome's. */
export function withPreferences(profileDir: string, command: string[]): string[] {
  return ["/bin/sh", "-c", PREPARE, "sh", profileDir, JSON.stringify(PREFERENCES), ...command];
}
