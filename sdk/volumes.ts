import type { HttpClient } from "./http/client.ts";
import type { CallOptions } from "./http/deadline.ts";
import { Pages } from "./http/pages.ts";
import type { Answered, Sent } from "@svc/contract/operations/routes.ts";

/** A volume (document 2, Volume). */
export type VolumeRecord = Answered<"GET /volumes/:id">;

/** Volumes: storage that outlives machines, mounted by `volumes` of a create (document 2, Endpoints). */
export class Volumes {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** The volumes of the org, newest first, all in one page. */
  list(options: CallOptions = {}): Pages<VolumeRecord> {
    return new Pages(async () => ({
      items: (await this.#http.call("GET /volumes", options)).volumes,
    }));
  }

  /** Creates a volume. `sizeMb` (MiB) is a hint. */
  create(wanted: Sent<"POST /volumes"> = {}, options: CallOptions = {}): Promise<VolumeRecord> {
    const request = { ...options, body: wanted, creates: true, isUnrepeatable: true } as const;
    return this.#http.call("POST /volumes", request);
  }

  /** Reads a volume. */
  get(id: string, options: CallOptions = {}): Promise<VolumeRecord> {
    return this.#http.call("GET /volumes/:id", { ...options, params: { id } });
  }

  /** Deletes a volume with all that is in it. `ConflictError`, `VolumeInUse`: a machine has it. */
  delete(id: string, options: CallOptions = {}): Promise<Answered<"DELETE /volumes/:id">> {
    return this.#http.call("DELETE /volumes/:id", { ...options, params: { id } });
  }
}
