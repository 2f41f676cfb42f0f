import { Rig } from "../rig.ts";
import { DetectionSite, type Row } from "./detection-site.ts";

/** A browser and what drives it. */
export interface Subject {
  name: string;
  /** Has the browser open the detection page. Returns what ends the browser. */
  visit: (lookout: Lookout) => Promise<() => Promise<unknown>>;
}

/** A real pool with browsers of both kinds, and the site that looks for marks. */
export class Lookout {
  readonly rig: Rig;
  readonly site: DetectionSite;

  private constructor(rig: Rig, site: DetectionSite) {
    this.rig = rig;
    this.site = site;
  }

  static async start(): Promise<Lookout> {
    const site = await DetectionSite.start();
    const SVC_EGRESS_ALLOW = `localhost:${site.port},127.0.0.1:${site.port}`;
    const rig = await Rig.start({ kind: "stealth", env: { SVC_WARM_FAST: "1", SVC_EGRESS_ALLOW } });
    return new Lookout(rig, site);
  }

  /** Opens the page in a subject, and returns the rows of the page. One subject at a time. */
  async look(subject: Subject): Promise<Row[]> {
    const rows = this.site.visit();
    const end = await subject.visit(this);
    try {
      return await rows;
    } finally {
      await end();
    }
  }

  async close(): Promise<void> {
    await this.rig.stop();
    this.site.close();
  }
}

/** The rows in which something may not be found, and is. */
export function found(rows: Row[]): string[] {
  return rows.filter(({ ok, isCovered }) => isCovered && !ok).map(({ check }) => check);
}
