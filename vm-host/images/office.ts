import { DESKTOP } from "./desktop.ts";
import { withLaunchers } from "./launchers.ts";
import type { Recipe } from "./recipe.ts";

/** Nobody is there to close the windows that greet a new user. */
const SETTINGS = `<?xml version="1.0" encoding="UTF-8"?>
<oor:data xmlns:oor="http://openoffice.org/2001/registry">
  <dependency file="main"/>
  <oor:component-data oor:package="org.openoffice.Office" oor:name="Common">
    <node oor:name="Misc">
      <prop oor:name="FirstRun"><value>false</value></prop>
      <prop oor:name="ShowTipOfTheDay"><value>false</value></prop>
    </node>
  </oor:component-data>
  <oor:component-data oor:package="org.openoffice.Office.UI" oor:name="Infobar">
    <node oor:name="Enabled">
      <prop oor:name="WhatsNew"><value>false</value></prop>
      <prop oor:name="GetInvolved"><value>false</value></prop>
      <prop oor:name="Donate"><value>false</value></prop>
    </node>
  </oor:component-data>
</oor:data>
`;

/** The desktop with LibreOffice: texts, sheets, slides. Its letters are as wide as those of the usual documents. */
export const OFFICE: Recipe = {
  ...DESKTOP,
  name: "office",
  packages: [
    ...DESKTOP.packages,
    ["libreoffice-calc", "libreoffice-gtk3", "libreoffice-impress", "libreoffice-writer"],
    ["fonts-crosextra-caladea", "fonts-crosextra-carlito"],
  ].flat(),
  files: {
    ...withLaunchers(DESKTOP.files, [
      { label: "Writer", command: "libreoffice --writer", entry: "libreoffice-writer.desktop" },
      { label: "Calc", command: "libreoffice --calc", entry: "libreoffice-calc.desktop" },
      { label: "Impress", command: "libreoffice --impress", entry: "libreoffice-impress.desktop" },
    ]),
    "/etc/libreoffice/registry/svc.xcd": SETTINGS,
  },
};
