import type { Answer, Elsewhere, Tables } from "./coverage.ts";

const shown = (why: string, path: string, test: string): Elsewhere => ({
  why,
  file: `test/${path}.test.ts`,
  test,
});

const NO_STORE = shown(
  "no volumes store",
  "gateway/volumes/create",
  "%s %s is 501 where the volumes store is unconfigured, for a good key",
);
const D1_VOLUMES = shown(
  "the database is down",
  "gateway/volumes/create",
  "while D1 fails %s /volumes%s is %d %s, and the volume is as before",
);
const UNEXPECTED = shown(
  "a bug of ours",
  "gateway/sandboxes/unexpected",
  "%s is 500, and nothing of it is left",
);
const WEDGED = shown(
  "the org's object is wedged",
  "durable-objects/sandbox/faults",
  "an org object that is wedged: POST %s is 503, and no host is asked",
);
const NO_DOMAIN = shown(
  "no preview domain",
  "gateway/ports/preview",
  "a preview is 501 where no domain is set",
);

/** What both surfaces answer to a create. */
const CREATE = {
  402: { FeatureRequiresPlan: "seen", InsufficientCredit: "seen" },
  403: { NotEntitled: "seen" },
  404: { NotFound: "seen" },
  413: { PayloadTooLarge: "seen" },
  429: { ConcurrencyLimitExceeded: "seen" },
  500: { InternalError: UNEXPECTED },
  501: { NotConfigured: NO_STORE },
  502: { HostRejected: "caused" },
  507: { InsufficientCapacity: "caused" },
} as const;
const MINTS = {
  200: "seen",
  400: { ValidationError: "seen" },
  401: "seen",
  404: { NotFound: "seen" },
} as const;
const PAUSE = {
  200: "seen",
  401: "seen",
  404: { NotFound: "seen" },
  409: { NotRunning: "caused", HostCapabilityMissing: "caused" },
  502: { HostRejected: "caused", HostUnreachable: "caused" },
} as const;
const RESUME = {
  200: "seen",
  401: "seen",
  402: { InsufficientCredit: "seen" },
  403: { NotEntitled: "seen" },
  404: { NotFound: "seen" },
  409: { NotPaused: "seen", SnapshotNotRestorable: "caused" },
  429: { ConcurrencyLimitExceeded: "seen" },
  502: { HostRejected: "caused" },
  503: { NoCapacity: "caused" },
} as const;
const OWN = { 200: "seen", 401: "seen", 404: { NotFound: "seen" } } as const;
const UPLOAD = {
  200: "seen",
  400: { ValidationError: "seen", GuestRefused: "caused" },
  403: { InvalidFileToken: "seen" },
  404: { NotFound: "seen" },
  409: { NotRunning: "seen" },
  413: { PayloadTooLarge: "seen" },
  502: { HostUnreachable: "caused" },
} as const;

/** The status tables of document 2, with the codes that it names. */
export const VM_TABLES: Tables = {
  "POST /sandboxes": {
    201: "seen",
    400: {
      InvalidJson: "seen",
      ValidationError: "seen",
      InvalidIdempotencyKey: "seen",
      TemplateKindMismatch: "seen",
      RecordingRequiresDesktop: "seen",
      RecordingRequiresGoldenBoot: "seen",
    },
    401: "seen",
    ...CREATE,
    409: {
      TemplateNotReady: "seen",
      IdempotencyKeyReused: "seen",
      VolumeAlreadyAttached: "seen",
      HostCapabilityMissing: "caused",
      SnapshotNotRestorable: "caused",
    },
    503: { NoCapacity: "caused", VolumeStatusUnknown: "caused", AdmissionUnavailable: WEDGED },
  },
  "GET /sandboxes": { 200: "seen", 401: "seen" },
  "GET /sandboxes/:id": OWN,
  "DELETE /sandboxes/:id": OWN,
  "POST /sandboxes/:id/timeout": OWN,
  "POST /sandboxes/:id/pause": PAUSE,
  "POST /sandboxes/:id/resume": RESUME,
  "GET /sandboxes/:id/metrics": { ...OWN, 502: { HostUnreachable: "caused" } },
  "POST /sandboxes/:id/exec": {
    200: "seen",
    400: { ValidationError: "seen", InvalidJson: "seen" },
    401: "seen",
    404: { NotFound: "seen" },
    409: { NotRunning: "seen" },
    502: { HostUnreachable: "caused" },
  },
  "GET /sandboxes/:id/ports/:port": { ...MINTS, 501: { NotConfigured: NO_DOMAIN } },
  "GET /sandboxes/:id/files/download-url": MINTS,
  "GET /sandboxes/:id/files/upload-url": MINTS,
  "GET /files/download": {
    200: "seen",
    // Beyond the document, which knows missing files alone: what is no plain file.
    400: { GuestRefused: "caused" },
    403: { InvalidFileToken: "seen" },
    404: { NotFound: "seen" },
    409: { NotRunning: "seen" },
    502: { HostUnreachable: "caused" },
  },
  "PUT /files/upload": UPLOAD,
  "POST /files/upload": UPLOAD,
  "POST /volumes": {
    201: "seen",
    400: { InvalidJson: "seen" },
    401: "seen",
    501: { NotConfigured: NO_STORE },
  },
  "GET /volumes": { 200: "seen", 401: "seen", 501: { NotConfigured: NO_STORE } },
  "GET /volumes/:id": { ...OWN, 501: { NotConfigured: NO_STORE } },
  "DELETE /volumes/:id": {
    ...OWN,
    409: { VolumeInUse: "seen" },
    501: { NotConfigured: NO_STORE },
    503: { VolumeStatusUnknown: D1_VOLUMES },
  },
  "POST /desktops": {
    201: "seen",
    400: {
      InvalidJson: "seen",
      ValidationError: "seen",
      InvalidIdempotencyKey: "seen",
      TemplateKindMismatch: "seen",
    },
    401: "seen",
    ...CREATE,
    409: {
      TemplateNotReady: "seen",
      IdempotencyKeyReused: "seen",
      HostCapabilityMissing: "seen",
    },
    503: { NoCapacity: "caused", AdmissionUnavailable: WEDGED },
  },
  "GET /desktops/:id": OWN,
  "DELETE /desktops/:id": OWN,
  "POST /desktops/:id/pause": PAUSE,
  "POST /desktops/:id/resume": RESUME,
  "GET /stream/:id": { 101: "seen", 404: "seen", 409: "seen", 502: "caused" },
  "GET /control/:id": { 101: "seen", 404: "seen", 409: "seen", 502: "caused" },
};

/** Routes that document 2 names without a table: what the code table says of them, and their success. */
export const VM_ADDITIVE_TABLES: Tables = {
  "POST /templates": { 202: "seen", 400: { LocalFilesUnsupported: "seen" }, 401: "seen" },
  "DELETE /templates/:id": { ...OWN, 409: { TemplateBuilding: "seen" } },
  "DELETE /snapshots/:id": { ...OWN, 409: { SnapshotHasChildren: "seen" } },
};

/** The codes of document 2: each is answered somewhere. */
export const VM_CODES = [
  "FeatureRequiresPlan",
  "InsufficientCredit",
  "NotEntitled",
  "ConcurrencyLimitExceeded",
  "ValidationError",
  "InvalidJson",
  "InvalidIdempotencyKey",
  "IdempotencyKeyReused",
  "TemplateKindMismatch",
  "TemplateNotReady",
  "TemplateBuilding",
  "SnapshotHasChildren",
  "SnapshotNotRestorable",
  "LocalFilesUnsupported",
  "RecordingRequiresDesktop",
  "RecordingRequiresGoldenBoot",
  "HostCapabilityMissing",
  "VolumeAlreadyAttached",
  "VolumeStatusUnknown",
  "VolumeInUse",
  "NoCapacity",
  "InsufficientCapacity",
] as const;

/** Of every route: a body above its cap, and the runtime's own word on a malformed Content-Length. */
const ANYWHERE = ["413 PayloadTooLarge", "400 null"];
/** Decisions: a machine that fits nowhere is 507 at its resume as at its create. */
const DECIDED: Record<string, string[]> = {
  "POST /sandboxes/:id/resume": ["507 InsufficientCapacity"],
  "POST /desktops/:id/resume": ["507 InsufficientCapacity"],
};

export const vmDecided = ({ route, status, code }: Answer): boolean =>
  [...ANYWHERE, ...(DECIDED[route] ?? [])].includes(`${status} ${code}`);
