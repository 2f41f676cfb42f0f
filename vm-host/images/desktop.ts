import { readFileSync } from "node:fs";
import { BASE } from "./base.ts";
import type { Recipe } from "./recipe.ts";

/** Files of the image that are longer than a line, as they lie in `desktop/`. */
const text = (name: string): string =>
  readFileSync(new URL(`desktop/${name}`, import.meta.url), "utf8");

/** The desktop image: the sandbox image, a screen, and the programs of a small desktop. docs/DESKTOP.md lists them. */
export const DESKTOP: Recipe = {
  ...BASE,
  name: "desktop",
  packages: [
    ...BASE.packages,
    // The screen, and what moves windows on it.
    ["openbox", "tigervnc-standalone-server", "tint2", "x11-utils", "x11-xserver-utils"],
    ["wmctrl", "xclip", "xdotool"],
    // Programs.
    ["chromium", "lxterminal", "mousepad", "pcmanfm"],
    // What programs of a desktop look for.
    ["adwaita-icon-theme", "dbus", "pulseaudio", "pulseaudio-utils", "shared-mime-info"],
    ["fonts-dejavu-core", "fonts-liberation", "fonts-noto-core"],
  ].flat(),
  files: {
    ...BASE.files,
    "/etc/inittab": "::respawn:/opt/svc/agent\n::respawn:/bin/sh /usr/local/lib/svc/desktop.sh\n",
    "/etc/chromium.d/svc": text("chromium-flags"),
    "/etc/chromium/policies/managed/svc.json": text("chromium-policy.json"),
    "/etc/xdg/openbox/menu.xml": text("menu.xml"),
    "/etc/xdg/tint2/tint2rc": text("tint2rc"),
    "/usr/local/lib/svc/desktop.sh": text("desktop.sh"),
  },
};
