import type { HttpClient } from "./http/client.ts";
import type { CallOptions } from "./http/deadline.ts";
import { labelsQuery, type Labels } from "./labels.ts";
import { Pages } from "./http/pages.ts";
import type { Answered } from "@svc/contract/operations/routes.ts";

/** A snapshot of a machine: its disk and its memory. */
export type SnapshotRecord = Answered<"GET /snapshots/:id">;

/** The filter of a list of snapshots. */
export interface SnapshotFilter extends CallOptions {
  /** Only those of this sandbox. */
  sandboxId?: string | undefined;
  kind?: SnapshotRecord["kind"] | undefined;
  /** Only those with these labels. */
  metadata?: Labels | undefined;
  /** Snapshots of a page, 1 to 100. */
  limit?: number | undefined;
}

/** Snapshots. `sandbox.snapshot()` takes one, `sandboxes.create({ fromSnapshot })` makes a fork. */
export class Snapshots {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** The snapshots of the org, newest first. */
  list({
    sandboxId,
    kind,
    metadata,
    limit,
    ...options
  }: SnapshotFilter = {}): Pages<SnapshotRecord> {
    return new Pages(async (cursor) => {
      const query = { sandboxId, kind, limit, cursor, ...labelsQuery(metadata) };
      const page = await this.#http.call("GET /snapshots", { ...options, query });
      return { items: page.snapshots, nextCursor: page.nextCursor };
    });
  }

  /** Reads a snapshot. */
  get(id: string, options: CallOptions = {}): Promise<SnapshotRecord> {
    return this.#http.call("GET /snapshots/:id", { ...options, params: { id } });
  }

  /** Deletes a snapshot. `ConflictError`, `SnapshotHasChildren`: live machines descend from it. */
  delete(id: string, options: CallOptions = {}): Promise<Answered<"DELETE /snapshots/:id">> {
    return this.#http.call("DELETE /snapshots/:id", { ...options, params: { id } });
  }
}
