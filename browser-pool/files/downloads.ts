import * as z from "zod";
import type { ClientCall } from "../cdp/call.ts";
import { type JsonObject, isObject } from "../cdp/envelope.ts";
import type { CdpMux, Wire } from "../cdp/mux.ts";
import { type CdpEvent, OwnClient } from "../cdp/own-client.ts";
import type { SessionFiles } from "./session-files.ts";

/** Where the browser sees the folder of its downloads, which Playwright shares. */
export const DOWNLOADS_AT = "/downloads";
const PARAMS_BYTES = 64 * 1024;
const METHODS: ReadonlySet<string> = new Set([
  "Browser.setDownloadBehavior",
  "Page.setDownloadBehavior",
]);

const Begun = z.object({ guid: z.string(), suggestedFilename: z.string() });
const Progress = z.object({
  guid: z.string(),
  receivedBytes: z.number(),
  state: z.enum(["inProgress", "completed", "canceled"]),
  filePath: z.string().optional(),
});

/**
 * A wire on which all downloads lie in the folder of downloads, whatever path a client names: the path would be one of the
 * browser's own view, where nobody fetches them. Playwright names the folder by its path on this host.
 */
export function withDownloads(wire: Wire, folder: string): Wire {
  return {
    plain: (bytes) => wire.plain(bytes),
    chained: (call) => wire.chained(METHODS.has(call.method) ? inFolder(call, folder) : call),
  };
}

function inFolder(call: ClientCall, folder: string): ClientCall {
  const { rawParams, ...read } = call;
  const params = rawParams ? parsed(rawParams) : read.params;
  if (!isObject(params) || typeof params.downloadPath !== "string") return { ...read, params };
  const downloadPath = params.downloadPath === folder ? folder : DOWNLOADS_AT;
  return { ...read, params: { ...params, downloadPath } };
}

/** Longer ones than this call has are no parameters. */
function parsed(raw: Buffer[]): unknown {
  const bytes = Buffer.concat(raw);
  const params: unknown = bytes.length > PARAMS_BYTES ? {} : JSON.parse(bytes.toString());
  return params;
}

/**
 * Has every context of a browser put downloads into the folder of downloads, unless its client wants otherwise, and tells
 * the files of the session of them, whoever drives the browser.
 */
export class Downloads {
  readonly #client: OwnClient;

  private constructor(mux: CdpMux, files: SessionFiles) {
    this.#client = new OwnClient(mux, (event) => this.#hear(event, files));
  }

  static async start(mux: CdpMux, files: SessionFiles): Promise<Downloads> {
    const downloads = new Downloads(mux, files);
    await downloads.#client.open();
    await downloads.#allow({});
    // Before its client knows the name of a context: what the client wants comes after.
    mux.onContext = (browserContextId) => void downloads.#allow({ browserContextId }).catch(gone);
    // With a client the browser forgets what it wanted of downloads, and with that what all others wanted.
    mux.onLeft = () => void downloads.#allow({}).catch(gone);
    return downloads;
  }

  async #allow(context: JsonObject): Promise<void> {
    await this.#client.call("Browser.setDownloadBehavior", {
      behavior: "allowAndName",
      downloadPath: DOWNLOADS_AT,
      eventsEnabled: true,
      ...context,
    });
  }

  #hear({ method, params }: CdpEvent, files: SessionFiles): void {
    if (method === "Browser.downloadWillBegin") {
      const begun = Begun.safeParse(params).data;
      if (begun) files.begin(begun.guid, begun.suggestedFilename);
    }
    if (method !== "Browser.downloadProgress") return;
    const progress = Progress.safeParse(params).data;
    if (!progress) return;
    const { guid, state, receivedBytes, filePath } = progress;
    if (state === "inProgress") files.progress(guid, receivedBytes);
    else if (state === "canceled") files.cancel(guid);
    else files.finish(guid, filePath ?? null);
  }
}

/** A browser or a context that is gone has no downloads. */
const gone = (): void => {};
