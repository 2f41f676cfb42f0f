import type { Recipe } from "./recipe.ts";

/** A program that the panel and the menu of a desktop start. */
export interface Launcher {
  label: string;
  command: string;
  /** Its file in `/usr/share/applications`. */
  entry: string;
}

const MENU = "/etc/xdg/openbox/menu.xml";
const PANEL = "/etc/xdg/tint2/tint2rc";
/** Right before it the panel's file has its other programs. */
const AFTER_LAUNCHERS = "\n\ntaskbar_mode";

/** The files of a desktop, with more programs in its menu and its panel. */
export function withLaunchers(files: Recipe["files"], launchers: Launcher[]): Recipe["files"] {
  const items = launchers.map(
    ({ label, command }) =>
      `    <item label="${label}"><action name="Execute"><command>${command}</command></action></item>\n`,
  );
  const lines = launchers.map(
    ({ entry }) => `\nlauncher_item_app = /usr/share/applications/${entry}`,
  );
  return {
    ...files,
    [MENU]: before(files[MENU], "  </menu>", items.join("")),
    [PANEL]: before(files[PANEL], AFTER_LAUNCHERS, lines.join("")),
  };
}

function before(text: string | undefined, place: string, more: string): string {
  const [head, ...rest] = text?.split(place) ?? [];
  if (head === undefined || rest.length !== 1) throw new Error(`no place for programs: ${place}`);
  return `${head}${more}${place}${rest[0]}`;
}
