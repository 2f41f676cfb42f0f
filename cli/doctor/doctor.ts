import type { Cli } from "../cli.ts";
import { Ended } from "../errors.ts";
import { EXIT } from "../exit-codes.ts";
import { installationFolder, readScript } from "../installation/installation.ts";
import { styled } from "../terminal/colours.ts";
import { type Finding, findingsText, readFindings, sumText } from "./finding.ts";
import { lookAtService } from "./service.ts";

/** Looks at this computer and at the service, and says what is missing. */
export async function examine(cli: Cli, { fix }: { fix?: true }): Promise<void> {
  const [computer, service] = await Promise.all([lookAtComputer(fix === true), lookAtService(cli)]);
  const findings = [...computer, ...service];
  cli.print(findings, `${findingsText(findings)}\n\n${styled("dim", sumText(findings))}`);
  if (findings.some(({ state }) => state === "missing")) throw new Ended(EXIT.refused);
}

/** The project itself knows what its hosts need. */
async function lookAtComputer(fix: boolean): Promise<Finding[]> {
  const root = installationFolder();
  if (root === null)
    return [
      { what: "hosts", state: "ok", note: "no installation here: only the service is looked at" },
    ];
  const args = fix ? ["--fix"] : [];
  const found = readFindings(await readScript(root, ["scripts/doctor.ts", ...args]));
  const note = `${root} cannot look at this computer`;
  return found ?? [{ what: "hosts", state: "missing", note, fix: `cd ${root} && npm install` }];
}
