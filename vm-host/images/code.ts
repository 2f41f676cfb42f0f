import { LIBRARY } from "./base.ts";
import { DESKTOP } from "./desktop.ts";
import { withLaunchers } from "./launchers.ts";
import type { Recipe } from "./recipe.ts";

const PLUGINS = ["git-changebar", "treebrowser"];

/** The editor begins with the tree of files beside the text, a terminal below it, and no question about saved sessions. */
const SETTINGS = `[geany]
sidebar_visible=true
msgwindow_visible=true
pref_main_load_session=false

[plugins]
load_plugins=true
active_plugins=${PLUGINS.map((name) => `${LIBRARY}/geany/${name}.so`).join(";")};

[VTE]
load_vte=true
run_in_vte=true
`;

/** The desktop with an editor for programs. docs/DECISIONS.md says why it is this one. */
export const CODE: Recipe = {
  ...DESKTOP,
  name: "code",
  packages: [
    ...DESKTOP.packages,
    ["geany", "libvte-2.91-0"],
    PLUGINS.map((name) => `geany-plugin-${name}`),
  ].flat(),
  files: {
    ...withLaunchers(DESKTOP.files, [{ label: "Code", command: "geany", entry: "geany.desktop" }]),
    "/root/.config/geany/geany.conf": SETTINGS,
  },
};
