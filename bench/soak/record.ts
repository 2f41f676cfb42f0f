import { KillWindows } from "./windows.ts";

const SHOWN = 20;

/** What the clients of a soak lived through. */
export class SoakRecord {
  readonly windows = new KillWindows();
  /** Ids of every session whose create was answered. */
  readonly created: string[] = [];
  readonly counts: Record<string, number> = {};
  /** What failed although nothing was killed; the first of them in words. */
  readonly anomalies: string[] = [];

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  /** A step that began at `from` failed. */
  failed(step: string, from: number, error: unknown): void {
    if (this.windows.hasTouched(from)) return this.count(`${step} failed under a kill`);
    this.anomaly(`${step}: ${messageOf(error)}`);
  }

  anomaly(text: string): void {
    this.count("anomalies");
    if (this.anomalies.length < SHOWN)
      this.anomalies.push(`${new Date().toISOString()} ${text.slice(0, 300)}`);
  }
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : "";
  return `${error.message.split("\n")[0]}${cause}`;
}
