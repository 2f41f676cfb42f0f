import { stealthFlags } from "../stealth/flags.ts";

const DISABLED_FEATURES = [
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "LensOverlay",
  "MediaRouter",
  "PaintHolding",
  "ThirdPartyStoragePartitioning",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "OptimizationHints",
  "NetworkTimeServiceQuerying",
  "AimEnabled",
  "PreconnectToSearch",
  "Translate",
];
const ENABLED_FEATURES = ["CDPScreenshotNewSurface", "SkipListAccountsWithoutGaiaCookies"];

// The flags that Playwright gives its own Chromium, so that its clients find the browser they know.
const AUTOMATION = [
  "--allow-pre-commit-input",
  "--disable-back-forward-cache",
  "--disable-background-networking",
  "--disable-background-timer-throttling",
  "--disable-backgrounding-occluded-windows",
  "--disable-breakpad",
  "--disable-component-extensions-with-background-pages",
  "--disable-component-update",
  "--disable-default-apps",
  "--disable-extensions",
  "--disable-field-trial-config",
  "--disable-hang-monitor",
  "--disable-infobars",
  "--disable-ipc-flooding-protection",
  "--disable-popup-blocking",
  "--disable-prompt-on-repost",
  "--disable-renderer-backgrounding",
  "--disable-search-engine-choice-screen",
  "--disable-stack-profiler",
  "--disable-sync",
  "--enable-unsafe-swiftshader",
  "--force-color-profile=srgb",
  "--metrics-recording-only",
  "--no-default-browser-check",
  "--no-first-run",
  "--no-service-autorun",
  "--password-store=basic",
  "--unsafely-disable-devtools-self-xss-warnings",
  "--use-mock-keychain",
  `--disable-features=${DISABLED_FEATURES.join(",")}`,
  `--enable-features=${ENABLED_FEATURES.join(",")}`,
];

/** The page of a context that sets no size: that of a desktop, and Playwright's own default. */
const PAGE = { width: 1280, height: 720 };

const HEADLESS = [
  "--headless",
  `--window-size=${PAGE.width},${PAGE.height}`,
  "--hide-scrollbars",
  "--mute-audio",
  "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4",
];

/** Chrome's own sandbox stays on: never --no-sandbox. */
function connected(profileDir: string, proxyPort: number): string[] {
  return [
    "--remote-debugging-pipe",
    `--user-data-dir=${profileDir}`,
    `--proxy-server=socks5://127.0.0.1:${proxyPort}`,
    // Without it pages on loopback would bypass the forwarder; there is nobody there.
    "--proxy-bypass-list=<-loopback>",
    "about:blank",
  ];
}

/** The command line of a browser of kind `fast`. */
export function fastFlags(profileDir: string, proxyPort: number): string[] {
  return [...AUTOMATION, ...HEADLESS, ...connected(profileDir, proxyPort)];
}

const HEADED = [
  "--mute-audio",
  // As the headless shell does by itself: a process for each site of a profile would take longer than a create may.
  "--disable-site-isolation-trials",
];
/** The command line of a browser of kind `stealth`. */
export function headedFlags(profileDir: string, proxyPort: number): string[] {
  return [...AUTOMATION, ...HEADED, ...stealthFlags(), ...connected(profileDir, proxyPort)];
}
