import { ADMIN } from "./admin.ts";
import { CONSOLE } from "./console.ts";
import { DESKTOPS } from "./desktops.ts";
import { FILES } from "./files.ts";
import { HANDOFFS } from "./handoffs.ts";
import { HEALTH } from "./health.ts";
import { INTERNAL } from "./internal.ts";
import { OBJECTS } from "./objects.ts";
import { PORTS } from "./ports.ts";
import { PROFILES } from "./profiles.ts";
import { PROXY } from "./proxy.ts";
import { SANDBOXES } from "./sandboxes.ts";
import { SESSIONS } from "./sessions.ts";
import { SNAPSHOTS } from "./snapshots.ts";
import { TEMPLATES } from "./templates.ts";
import { USAGE } from "./usage.ts";
import { VOLUMES } from "./volumes.ts";

/** Every REST operation of the service, by name. */
export const OPERATIONS = {
  ...HEALTH,
  ...SESSIONS,
  ...HANDOFFS,
  ...SANDBOXES,
  ...VOLUMES,
  ...SNAPSHOTS,
  ...DESKTOPS,
  ...FILES,
  ...PORTS,
  ...TEMPLATES,
  ...PROFILES,
  ...CONSOLE,
  ...OBJECTS,
  ...PROXY,
  ...USAGE,
  ...ADMIN,
  ...INTERNAL,
} as const;
/** The operations that customers and operators call, by subject. */
export const SUBJECTS = {
  "Browser sessions": SESSIONS,
  "Hand-offs and logins": HANDOFFS,
  Profiles: PROFILES,
  Console: CONSOLE,
  Sandboxes: SANDBOXES,
  Snapshots: SNAPSHOTS,
  Desktops: DESKTOPS,
  Volumes: VOLUMES,
  Templates: TEMPLATES,
  Files: FILES,
  Ports: PORTS,
  Proxy: PROXY,
  Usage: USAGE,
  Health: HEALTH,
  Objects: OBJECTS,
  "Operator API": ADMIN,
} as const;
/** The name of an operation. */
export type OperationName = keyof typeof OPERATIONS;
