import type { RecordingReport } from "@svc/contract/host-protocol/recording.ts";
import { ObjectStore } from "@svc/host-kit/object-store.ts";
import type { ReplayStore } from "./uploads.ts";
import type { WaitingReplay } from "./waiting-replay.ts";

/** A transfer of a replay on a line that has died. */
const REPORT_MS = 10_000;

/** The replays of a gateway: bytes by signed URLs, and what it is told of them. */
export class GatewayReplays implements ReplayStore {
  readonly #gatewayUrl: string;
  readonly #hostToken: string;
  readonly #objects: ObjectStore;

  constructor(options: { gatewayUrl: string; hostToken: string; signal: AbortSignal }) {
    this.#gatewayUrl = options.gatewayUrl;
    this.#hostToken = options.hostToken;
    this.#objects = new ObjectStore(options);
  }

  upload({ path, org, session }: WaitingReplay): Promise<void> {
    return this.#objects.upload({ purpose: "replay", org, session }, path);
  }

  async report(session: string, report: RecordingReport): Promise<void> {
    const path = `/internal/sessions/${encodeURIComponent(session)}/recording`;
    const response = await fetch(new URL(path, this.#gatewayUrl), {
      method: "POST",
      headers: { authorization: `Bearer ${this.#hostToken}`, "content-type": "application/json" },
      body: JSON.stringify(report),
      redirect: "error",
      signal: AbortSignal.timeout(REPORT_MS),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`report: ${response.status}`);
  }
}
