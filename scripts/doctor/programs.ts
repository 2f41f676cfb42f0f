import { judge } from "../../browser-pool/launch/fitness.ts";
import { judgeStealth } from "../../browser-pool/launch/stealth-fitness.ts";
import { systemPackages } from "../system-packages.ts";
import type { Finding } from "../../cli/doctor/finding.ts";

/** Node, and browsers: each is started, or what it needs is tried. */
export async function lookAtPrograms(): Promise<Finding[]> {
  const { SVC_CHROMIUM, SVC_CHROMIUM_STEALTH } = process.env;
  const [fast, stealth] = await Promise.all([
    judge(SVC_CHROMIUM || null),
    judgeStealth(SVC_CHROMIUM_STEALTH || null),
  ]);
  const node: Finding = { what: "Node", state: "ok", note: process.versions.node };
  const groups = systemPackages();
  return [
    node,
    browser("browsers", fast, groups),
    browser("stealth browsers", stealth, groups),
    ...packages(groups),
  ];
}

type Judgement = Awaited<ReturnType<typeof judge>>;

type Groups = ReturnType<typeof systemPackages>;

function browser(what: string, judgement: Judgement, groups: Groups): Finding {
  const fix = groups.find((group) => group.what === what && group.missing.length > 0)?.fix;
  if ("hint" in judgement) return { what, state: "missing", note: judgement.hint, fix };
  const { version, isolation, isOnline } = judgement;
  const lacks = [
    isolation === "uid" ? [] : "every browser runs as the same user: run it as root",
    isOnline ? [] : "pages take themselves for offline: the kernel has no dummy network",
  ].flat();
  const note = [`Chromium ${version}`, ...lacks].join("; ");
  return { what, state: lacks.length > 0 ? "weak" : "ok", note };
}

/** The packages that browsers and machines can do without. */
function packages(groups: Groups): Finding[] {
  const OPTIONAL = ["videos and fonts", "recordings of desktops"];
  return groups
    .filter(({ what }) => OPTIONAL.includes(what))
    .map(({ what, missing, fix }) =>
      missing.length === 0
        ? { what, state: "ok", note: "all packages are there" }
        : { what, state: "weak", note: `without ${missing.join(", ")}`, fix },
    );
}
