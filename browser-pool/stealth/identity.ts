import type { JsonObject } from "../cdp/envelope.ts";

// A list of brands changes its order and its nonsense entry with each major version, by these rules of Chromium.
const NONSENSE_SIGNS = [" ", "(", ":", "-", ".", "/", ")", ";", "=", "?", "_"];
const NONSENSE_VERSIONS = ["8", "99", "24"];

interface Brand {
  brand: string;
  version: string;
}

/** Parameters of `Emulation.setUserAgentOverride`: Chromium wants the whole identity of a browser also where only languages change. */
export interface Identity extends JsonObject {
  userAgent: string;
  platform: string;
  userAgentMetadata: JsonObject;
}

/**
 * Of a Chromium on Linux, by what `Browser.getVersion` tells: just what the browser says without any override, but for its
 * languages. Another brand would be missing in the first request of a tab, which the browser sends before any override.
 */
export function identityOf(version: JsonObject): Identity {
  const { product, userAgent } = version;
  const full = typeof product === "string" ? /\/([\d.]+)$/.exec(product)?.[1] : undefined;
  if (full === undefined || typeof userAgent !== "string")
    throw new Error("the browser does not tell its version");
  const major = Number.parseInt(full);
  const isArm = userAgent.includes("aarch64");
  return {
    userAgent,
    platform: isArm ? "Linux aarch64" : "Linux x86_64",
    userAgentMetadata: {
      brands: brandsOf(major, String(major)),
      fullVersionList: brandsOf(major, full),
      platform: "Linux",
      // Chromium on Linux tells none.
      platformVersion: "",
      architecture: isArm ? "arm" : "x86",
      bitness: "64",
      model: "",
      mobile: false,
      wow64: false,
      formFactors: ["Desktop"],
    },
  };
}

/** The brands of Chromium, in the order of its major version. */
export function brandsOf(major: number, version: string): Brand[] {
  const sign = (offset: number): string => NONSENSE_SIGNS[(major + offset) % 11] ?? "";
  const nonsense = NONSENSE_VERSIONS[major % 3] ?? "";
  const tail = version.includes(".") ? ".0.0.0" : "";
  const named = [
    { brand: `Not${sign(0)}A${sign(1)}Brand`, version: nonsense + tail },
    { brand: "Chromium", version },
  ];
  return major % 2 === 0 ? named : named.toReversed();
}
