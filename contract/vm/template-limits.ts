const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** Numbers of custom templates, all of them decisions. The unit ends each name. */
export const TEMPLATE_LIMITS = {
  nameCharacters: 100,
  steps: 100,
  packages: 100,
  packageCharacters: 200,
  commandCharacters: 64 * 1024,
  /** Of one `write`; the cap of the whole body is 1 MiB. */
  contentCharacters: 512 * 1024,
  urlCharacters: 2048,
  envs: 100,
  /** How long a server may take to be ready, at most and unless the request says otherwise. */
  readyMostMs: 10 * MINUTE,
  readyMs: MINUTE,
  /** Longest build; a longer build fails. */
  buildMs: 60 * MINUTE,
  /** How long a build waits for a host that can take it. */
  hostWaitMs: 10 * MINUTE,
  /** How long a host that builds may be out of reach before another one begins anew. */
  hostLostMs: MINUTE,
  /** How often a build is begun anew on a host that lost it. */
  restarts: 3,
  /** Builds of an org at once, beside its machines. */
  buildsAtOnce: 1,
  /** How much of a log is kept: its newest lines. */
  logLines: 10_000,
  logCharacters: 4 * 1024 * 1024,
  lineCharacters: 4096,
  /** Lines of programs that a log takes in a second, once it has taken as many as it keeps. More are left out. */
  logLinesPerSecond: 1000,
  /** A line counts once more for each time it is as long as this. */
  countedCharacters: 256,
  /** Of one page. */
  pageLines: 1000,
  pageCharacters: 512 * 1024,
  /** How long a host holds a request for news of a build before it answers without any. */
  newsMs: 10 * SECOND,
  /** How long a host goes on building while the gateway does not ask. */
  unheardMs: 3.5 * MINUTE,
} as const;
