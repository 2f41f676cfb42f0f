import type { IncomingMessage, ServerResponse } from "node:http";
import type { Images } from "../images/images.ts";
import type { Readiness } from "../machinery.ts";
import type { Vms } from "../machines/vms.ts";
import type { RecordStore } from "../records/store.ts";

/** What the calls of the gateway are about. */
export interface HostParts {
  vms: Vms;
  store: RecordStore;
  images: Images;
  readiness: Readiness;
}

/** A call of the gateway for one machine. */
export interface VmCall extends HostParts {
  id: string;
  /** Whose machine, snapshot or template it is. */
  org: string;
  /** What follows the id, `ports/8000/a?b`. */
  rest: string;
  /** What follows the question mark, where nothing else follows the id. */
  query: string;
  request: IncomingMessage;
  response: ServerResponse;
}

/** What a call is told while no machine can be made. */
export const NOT_READY = "This host is not ready for machines yet.";
