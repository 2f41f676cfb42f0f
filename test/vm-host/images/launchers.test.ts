import { expect, test } from "vitest";
import { CODE } from "../../../vm-host/images/code.ts";
import { DESKTOP } from "../../../vm-host/images/desktop.ts";
import { withLaunchers } from "../../../vm-host/images/launchers.ts";
import { OFFICE } from "../../../vm-host/images/office.ts";

const MENU = "/etc/xdg/openbox/menu.xml";
const PANEL = "/etc/xdg/tint2/tint2rc";

const launched = (panel = ""): string[] =>
  [...panel.matchAll(/^launcher_item_app = .*\/(.*)\.desktop$/gm)].map(([, name = ""]) => name);
const offered = (menu = ""): string[] =>
  [...menu.matchAll(/<item label="(.*?)">/g)].map(([, label = ""]) => label);

test("office and code have the programs of every desktop in panel and menu, and their own after them", () => {
  const common = launched(DESKTOP.files[PANEL]);
  expect(common).toHaveLength(4);
  const ofOffice = ["libreoffice-writer", "libreoffice-calc", "libreoffice-impress"];
  expect(launched(OFFICE.files[PANEL])).toEqual([...common, ...ofOffice]);
  expect(launched(CODE.files[PANEL])).toEqual([...common, "geany"]);
  const menu = offered(DESKTOP.files[MENU]);
  expect(offered(OFFICE.files[MENU])).toEqual([...menu, "Writer", "Calc", "Impress"]);
  expect(offered(CODE.files[MENU])).toEqual([...menu, "Code"]);
});

test("a desktop whose files have no place for programs is no base for them", () => {
  expect(() => withLaunchers({ [MENU]: "<menu/>", [PANEL]: "" }, [])).toThrow("no place");
});
