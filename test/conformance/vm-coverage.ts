/** A test that shows a status of document 2, by its file. */
type Where = string;

const SANDBOXES = "test/gateway/sandboxes";
const DESKTOPS = "test/gateway/desktops";
const VOLUMES = "test/gateway/volumes/volumes.test.ts";
const ATTACH = "test/gateway/volumes/attach.test.ts";
const EVERY = "test/gateway/every-route.test.ts";
const CREATE = `${SANDBOXES}/create.test.ts`;
const FIELDS = `${SANDBOXES}/fields.test.ts`;
const LIFE = `${SANDBOXES}/life.test.ts`;
const SLEEP = `${SANDBOXES}/sleep.test.ts`;
const EXEC = `${SANDBOXES}/exec.test.ts`;
const DESK = `${DESKTOPS}/create.test.ts`;
const DESK_LIFE = `${DESKTOPS}/life.test.ts`;
const URLS = "test/gateway/files/urls.test.ts";
const TRANSFER = "test/gateway/files/transfer.test.ts";
const PREVIEWS = "test/gateway/previews/previews.test.ts";
const CONTROL = "test/gateway/sockets/control.test.ts";
const STREAM = "test/end-to-end/desktops.test.ts";
const TEMPLATES = "test/gateway/templates/boot.test.ts";
const FAULTS = "test/durable-objects/sandbox-faults.test.ts";

/** The status tables of document 2. All of it needs machines or faults: each status names the test that shows it. */
export const VM_STATUS_TABLES: Record<string, Record<number, Where>> = {
  "POST /sandboxes": {
    201: CREATE,
    400: FIELDS,
    401: EVERY,
    402: CREATE,
    403: FIELDS,
    404: FIELDS,
    409: TEMPLATES,
    429: CREATE,
    500: FAULTS,
    501: FIELDS,
    502: CREATE,
    503: CREATE,
    507: CREATE,
  },
  "GET /sandboxes": { 200: `${SANDBOXES}/list.test.ts`, 401: EVERY },
  "GET /sandboxes/:id": { 200: LIFE, 401: EVERY, 404: EVERY },
  "DELETE /sandboxes/:id": { 200: LIFE, 401: EVERY, 404: EVERY },
  "POST /sandboxes/:id/timeout": { 200: LIFE, 401: EVERY, 404: EVERY },
  "POST /sandboxes/:id/pause": { 200: SLEEP, 401: EVERY, 404: EVERY, 409: SLEEP, 502: SLEEP },
  "POST /sandboxes/:id/resume": {
    200: SLEEP,
    401: EVERY,
    402: SLEEP,
    403: SLEEP,
    404: EVERY,
    409: SLEEP,
    429: SLEEP,
    502: SLEEP,
    503: SLEEP,
  },
  "GET /sandboxes/:id/metrics": { 200: EXEC, 401: EVERY, 404: EXEC, 502: EXEC },
  "POST /sandboxes/:id/exec": {
    200: EXEC,
    400: EXEC,
    401: EVERY,
    404: EVERY,
    409: EXEC,
    502: EXEC,
  },
  "GET /sandboxes/:id/ports/:port": {
    200: PREVIEWS,
    400: PREVIEWS,
    401: EVERY,
    404: PREVIEWS,
    501: PREVIEWS,
  },
  "GET /sandboxes/:id/files/download-url": { 200: URLS, 400: URLS, 401: EVERY, 404: EVERY },
  "GET /sandboxes/:id/files/upload-url": { 200: URLS, 400: URLS, 401: EVERY, 404: EVERY },
  "GET /files/download": {
    200: TRANSFER,
    403: TRANSFER,
    404: TRANSFER,
    409: `${SANDBOXES}/asleep.test.ts`,
    502: TRANSFER,
  },
  "PUT /files/upload": {
    200: TRANSFER,
    400: TRANSFER,
    403: TRANSFER,
    404: TRANSFER,
    409: `${SANDBOXES}/asleep.test.ts`,
    413: TRANSFER,
    502: TRANSFER,
  },
  "POST /files/upload": { 200: TRANSFER },
  "POST /volumes": { 201: VOLUMES, 400: VOLUMES, 401: EVERY, 501: VOLUMES },
  "GET /volumes": { 200: VOLUMES, 401: EVERY, 501: VOLUMES },
  "GET /volumes/:id": { 200: VOLUMES, 401: EVERY, 404: VOLUMES, 501: VOLUMES },
  "DELETE /volumes/:id": { 200: VOLUMES, 401: EVERY, 404: VOLUMES, 409: ATTACH, 501: VOLUMES },
  "POST /desktops": {
    201: DESK,
    400: DESK,
    401: EVERY,
    402: DESK,
    403: DESK,
    404: DESK,
    409: DESK,
    429: DESK,
    500: FAULTS,
    501: FIELDS,
    502: DESK,
    503: DESK,
    507: DESK,
  },
  "GET /desktops/:id": { 200: DESK_LIFE, 401: EVERY, 404: DESK_LIFE },
  "DELETE /desktops/:id": { 200: DESK_LIFE, 401: EVERY, 404: DESK_LIFE },
  "POST /desktops/:id/pause": {
    200: DESK_LIFE,
    401: EVERY,
    404: DESK_LIFE,
    409: DESK_LIFE,
    502: DESK_LIFE,
  },
  "POST /desktops/:id/resume": {
    200: DESK_LIFE,
    401: EVERY,
    402: DESK_LIFE,
    403: DESK_LIFE,
    404: DESK_LIFE,
    409: DESK_LIFE,
    429: DESK_LIFE,
    502: DESK_LIFE,
    503: DESK_LIFE,
  },
  "GET /stream/:id": { 101: STREAM, 404: STREAM, 409: STREAM },
  "GET /control/:id": { 101: CONTROL, 404: CONTROL, 502: CONTROL },
};

/** The error codes of document 2, each with a test that is answered it. */
export const VM_CODES: Record<string, Where> = {
  FeatureRequiresPlan: FIELDS,
  InsufficientCredit: CREATE,
  NotEntitled: FIELDS,
  ConcurrencyLimitExceeded: CREATE,
  ValidationError: FIELDS,
  InvalidJson: FIELDS,
  InvalidIdempotencyKey: DESK,
  IdempotencyKeyReused: DESK,
  TemplateKindMismatch: TEMPLATES,
  TemplateNotReady: TEMPLATES,
  TemplateBuilding: "test/gateway/templates/builds.test.ts",
  SnapshotHasChildren: "test/gateway/snapshots/lineage.test.ts",
  SnapshotNotRestorable: "test/gateway/snapshots/fork.test.ts",
  LocalFilesUnsupported: "test/gateway/templates/fields.test.ts",
  RecordingRequiresDesktop: FIELDS,
  RecordingRequiresGoldenBoot: FIELDS,
  HostCapabilityMissing: DESK,
  VolumeAlreadyAttached: ATTACH,
  VolumeStatusUnknown: ATTACH,
  VolumeInUse: ATTACH,
  NoCapacity: CREATE,
  InsufficientCapacity: CREATE,
};
