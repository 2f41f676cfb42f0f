import type { VmService } from "../vm-caller.ts";
import { admission } from "./admission.ts";
import { create } from "./create.ts";
import { doors } from "./doors.ts";
import { errors } from "./errors.ts";
import { faults } from "./faults.ts";
import { files } from "./files.ts";
import { idempotency } from "./idempotency.ts";
import { life } from "./life.ts";
import { ports } from "./ports.ts";
import { saved } from "./saved.ts";
import { sockets } from "./sockets.ts";
import { uses } from "./uses.ts";
import { volumes } from "./volumes.ts";

/** The sections of document 2. The rules of all errors come last: they look at every answer. */
export const VM_SECTIONS: Record<string, (service: VmService) => void> = {
  create,
  admission,
  idempotency,
  "records, pause and resume": life,
  "exec, metrics, timeout, list": uses,
  "hosts that fail": faults,
  files,
  "ports and previews": ports,
  volumes,
  "templates and snapshots": saved,
  "control and stream": sockets,
  "authentication and limits": doors,
  errors,
};
