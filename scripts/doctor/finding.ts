/** A thing that was looked at, its state, and the one command that mends it, as `cli/doctor/finding.ts` reads it. */
export interface Finding {
  what: string;
  /** `weak`: it works, and something is worse than it could be; `missing`: something is off without it. */
  state: "ok" | "weak" | "missing";
  note: string;
  fix?: string | undefined;
}
