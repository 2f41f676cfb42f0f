import { SCREEN } from "../launch/screen.ts";

/**
 * The flags of a headed browser that nobody seems to drive, on top of those that every browser of the pool has. None of
 * them is one that counts only once (`--enable-features` and its like).
 */
export function stealthFlags(): string[] {
  return [
    // Without it `navigator.webdriver` is true.
    "--disable-blink-features=AutomationControlled",
    `--window-size=${SCREEN.width},${SCREEN.height}`,
    // Elsewhere the window would not fit on its screen.
    "--window-position=0,0",
    // A computer without camera and microphone is rare. Pages still have to ask for them.
    "--use-fake-device-for-media-stream",
    ...GRAPHICS,
  ];
}

// Mesa draws by software as Chromium's own renderer does, and can be told the name that it gives itself.
const GRAPHICS = ["--use-gl=angle", "--use-angle=gl", "--ignore-gpu-blocklist"];

/** The environment that the browser of these flags wants: the graphics card that Mesa takes itself for. */
export const STEALTH_ENVIRONMENT: Readonly<Record<string, string>> = {
  LIBGL_ALWAYS_SOFTWARE: "1",
  force_gl_vendor: "Intel",
  force_gl_renderer: "Mesa Intel(R) UHD Graphics 620 (KBL GT2)",
};
