import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PlaceVm, VmPlaced, VmRefused } from "@svc/contract/host-protocol/vms.ts";
import { readHostBearer } from "@svc/contract/tokens.ts";
import { Exec, ExecResult } from "@svc/contract/vm/exec.ts";
import { VmMetrics } from "@svc/contract/vm/metrics.ts";
import { refuseUpgrade } from "@svc/host-kit/reply.ts";
import { OWN_ANSWER } from "../../../vm-host/server/port-headers.ts";
import * as z from "zod";
import type { Duplex } from "node:stream";
import { FakeBuilds, FakeBuildMode } from "./builds.ts";
import { FakeFiles, FakeFilesMode } from "./files.ts";
import { FakeGuest, PortMode } from "./guest.ts";
import { bodyOf, type FakePoolCall, send } from "./pool.ts";
import { FakeStatesMode, FakeVmStates } from "./vm-states.ts";
import { LASTING, servingAll } from "./serving.ts";

/** How a fake VM host answers. */
export const FakeVmMode = z.object({
  /** `image`: its image is being built; `hang`: never; `wait`: well, but only when it is next steered; `odd`: 201 with nothing of use in it. */
  put: z
    .enum([
      "ok",
      "image",
      "full",
      "small",
      "lacking",
      "unbuilt",
      "busy",
      "taken",
      "fault",
      "hang",
      "wait",
      "odd",
      "drop",
    ])
    .default("ok"),
  exec: z
    .enum(["ok", "hang", "drop", "missing", "fault", "away", "odd", "paused", "interrupted"])
    .default("ok"),
  metrics: z.enum(["ok", "missing", "fault", "drop", "odd"]).default("ok"),
  remove: z.enum(["ok", "hang", "fault"]).default("ok"),
  ...FakeStatesMode,
  /** Machines that an earlier start of it has left asleep on its disk, and the record of each. */
  asleep: z.record(z.string(), z.string()).default({}),
  files: FakeFilesMode.default("ok"),
  build: FakeBuildMode.default("ok"),
  ports: PortMode,
  upgrade: z.enum(["ok", "missing", "fault", "drop"]).default("ok"),
});
export type FakeVmMode = z.infer<typeof FakeVmMode>;

const REFUSALS = {
  busy: [503, { error: "Its last state lies with another host.", code: "VolumeBusy" }],
  taken: [409, { error: "/data is no folder.", code: "VolumePathTaken" }],
  image: [
    503,
    { error: "No image yet.", code: "NoCapacity", hint: "The image is at 40 %.", percent: 40 },
  ],
  full: [503, { error: "Every place on this host is taken.", code: "NoCapacity" }],
  small: [507, { error: "This size does not fit here.", code: "InsufficientCapacity" }],
  lacking: [409, { error: "", code: "HostCapabilityMissing", missingCapabilities: ["snapshots"] }],
  unbuilt: [409, { error: "No image.", code: "TemplateNotReady", hint: "It is at 3 %." }],
} satisfies Record<string, [number, VmRefused]>;

const METRICS = VmMetrics.parse({
  cpuPct: 1.5,
  memBytes: 100,
  memTotalBytes: 200,
  diskBytes: 300,
  contextScoped: false,
});

/** Speaks a VM host's side of the host protocol over real sockets, with no machine behind it. */
export class FakeVmHost {
  mode: FakeVmMode = FakeVmMode.parse({});
  capabilities: string[] = [];
  /** `exec`: a command that hangs began; `exec cut`: nobody waits for it any more. Each with the id. */
  readonly events = new EventEmitter();
  readonly calls: FakePoolCall[] = [];
  readonly bootId = crypto.randomUUID();
  readonly vms = new Set<string>();
  readonly states: FakeVmStates;
  readonly files = new FakeFiles();
  readonly builds = new FakeBuilds();
  readonly guest = new FakeGuest();
  seq = 0;
  readonly #hostToken: string;
  readonly #server: Server;
  #port = 0;

  constructor(hostToken: string) {
    this.#hostToken = hostToken;
    const { bootId, vms } = this;
    const modeOf = (): FakeVmMode => this.mode;
    this.states = new FakeVmStates({
      bootId,
      vms,
      get mode() {
        return modeOf();
      },
      nextSeq: () => (this.seq += 1),
    });
    const answer = servingAll((request, response) => this.#answer(request, response));
    this.#server = createServer(LASTING, answer);
    this.#server.on("upgrade", (request, socket: Duplex, head) => {
      socket.on("error", () => socket.destroy());
      this.#upgrade(request, socket, head).catch(() => socket.destroy());
    });
  }

  async close(): Promise<void> {
    this.guest.close();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async listen(port = 0): Promise<string> {
    await this.comeBack(port);
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Breaks every call off that is under way. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  /** Is not there any more: connections to it are refused. */
  async leave(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.cut();
    await closed;
  }

  /** Listens where it did before. */
  async comeBack(port = this.#port): Promise<void> {
    this.#server.listen(port, "127.0.0.1");
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const stream = /^\/vms\/[^/?]+\/(files|ports)\b/.exec(request.url ?? "")?.[1];
    if (stream !== undefined) return this.#stream(stream, request, response);
    const text = await bodyOf(request);
    if (request.url === "/control") return this.#control(text, response);
    const id = await this.#idOf(request, text);
    if (id === null) return send(response, 401, "");
    if (request.url?.startsWith("/templates/"))
      return this.builds.answer({ mode: this.mode.build, id, text, request, response });
    const [, , , what = ""] = (request.url ?? "").split("/");
    const route = `${request.method} ${what}`;
    if (request.url === "/drain") return send(response, 202, "");
    if (request.url?.startsWith("/snapshots/")) return this.states.remove(id, response);
    if (route === "PUT ") return this.#place(id, text, response);
    if (route === "DELETE ") return this.#end(id, response);
    if (request.method === "POST" && this.states.isAct(what))
      return this.states.answer(what, id, text, response);
    if (route === "POST exec") return this.#exec(id, text, response);
    if (route === "GET metrics") return this.#metrics(id, response);
    send(response, 404, "");
  }

  /** Tests in workerd steer it over its own port: a body sets the mode; it answers what it was asked and holds. */
  #control(text: string, response: ServerResponse): void {
    if (text !== "") this.mode = FakeVmMode.parse(JSON.parse(text));
    for (const [id, record] of Object.entries(this.mode.asleep)) {
      this.vms.delete(id);
      this.states.paused.set(id, record);
    }
    this.mode.asleep = {};
    if (text !== "") this.states.goOn();
    if (text !== "") this.events.emit("steered");
    this.seq += 1;
    const { calls, bootId, seq } = this;
    const { paused, parked, snapshots, checkpoints } = this.states;
    const held = {
      vms: [...this.vms],
      paused: [...paused.keys()],
      parked: [...parked],
      snapshots: [...snapshots],
      records: Object.fromEntries([...checkpoints, ...paused]),
    };
    const files = Object.fromEntries(this.files.sizes());
    const templates = this.builds.held;
    const { overheard } = this.guest;
    const rest = { files, templates, overheard };
    send(response, 200, JSON.stringify({ calls, bootId, seq, ...held, ...rest }));
  }

  /** What is passed on as it comes: the body is not read here. */
  async #stream(what: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = await this.#idOf(request, "");
    if (id === null) return send(response, 401, "");
    const { mode, vms } = this;
    if (what === "ports") return this.guest.answer({ vms, id, request, response }, mode.ports);
    if (!this.vms.has(id)) return void response.writeHead(404).end("No such machine\n");
    await this.files.answer(this.mode.files, request, response);
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const id = await this.#idOf(request, "");
    const { upgrade } = this.mode;
    if (upgrade === "drop") return void socket.destroy();
    const isHeld = id !== null && this.vms.has(id) && upgrade !== "missing";
    const isSocket = /^\/vms\/[^/?]+\/(control|stream)(\?view=1)?$/.test(request.url ?? "");
    if (upgrade === "fault") return refuseUpgrade(socket, 500, "a bug", OWN_ANSWER);
    if (!isHeld) return refuseUpgrade(socket, id ? 404 : 401, "No such machine\n", OWN_ANSWER);
    if (isSocket) return this.guest.control(request, socket, head);
    await this.guest.upgrade(request, socket, head);
  }

  /** The id that a call is about, when its bearer names it too. */
  async #idOf(request: IncomingMessage, text: string): Promise<string | null> {
    const path = request.url ?? "/";
    const bearer = request.headers.authorization?.replace(/^Bearer /, "") ?? "";
    const claims = await readHostBearer(this.#hostToken, bearer, Date.now());
    const body: unknown = text === "" ? null : JSON.parse(text);
    this.calls.push({ method: request.method ?? "", path, org: claims?.org ?? null, body });
    const [first = "", encoded] = (path.split("?")[0] ?? "").slice(1).split("/");
    const id = decodeURIComponent(encoded ?? first);
    return claims?.id === id ? id : null;
  }

  #place(id: string, text: string, response: ServerResponse): void {
    const ask = PlaceVm.parse(JSON.parse(text));
    const { kind, cpu, memMb, diskGb, isolation, source } = ask;
    const { put } = this.mode;
    if (put === "hang") return;
    if (put === "wait")
      return void this.events.once("steered", () => this.#place(id, text, response));
    if (put === "drop") return void response.destroy();
    if (put === "fault") return send(response, 500, "a bug");
    if (put === "odd") return send(response, 201, "{}");
    if (put !== "ok") {
      const [status, body] = REFUSALS[put];
      return send(response, status, JSON.stringify(VmRefused.parse(body)));
    }
    const isFork = source.type === "snapshot";
    const isKnown = (id: string) => this.states.hasSnapshot(id) || this.builds.held.includes(id);
    if (isFork && !isKnown(source.id)) {
      const body = { error: "There is no such snapshot here.", code: "UnknownSnapshot" };
      return send(response, 409, JSON.stringify(VmRefused.parse(body)));
    }
    this.vms.add(id);
    this.seq += 1;
    const enforcement = { cpu: "vm", memMb: "vm" };
    // Rounded up, as a real one does.
    const got = { cpu, memMb: Math.max(512, memMb), diskGb: Math.max(4, diskGb), isolation };
    const { bootId, seq } = this;
    const made = { how: isFork ? "fork" : "warm", acquiredMs: 1 };
    // A fork has the screen of its origin.
    const screen = kind === "desktop" && { resolution: ask.resolution ?? "1024x768" };
    const placed = { ...got, ...screen, ...made, enforcement, bootId, seq };
    send(response, 201, JSON.stringify(VmPlaced.parse(placed)));
  }

  #end(id: string, response: ServerResponse): void {
    const { remove } = this.mode;
    if (remove === "hang") return;
    if (remove === "fault") return send(response, 500, "a bug");
    this.vms.delete(id);
    this.states.forget(id);
    send(response, 204, "");
  }

  #exec(id: string, text: string, response: ServerResponse): void {
    const asked = Exec.parse(JSON.parse(text));
    this.states.wake(id);
    const { exec } = this.mode;
    if (exec === "hang") {
      this.events.emit("exec", id);
      return void response.once("close", () => this.events.emit("exec cut", id));
    }
    if (exec === "fault") return send(response, 500, "a bug");
    if (exec === "away") return send(response, 502, '{"error":"","code":"Disconnected"}');
    if (exec === "paused") return send(response, 409, '{"error":"","code":"Paused"}');
    if (exec === "interrupted") return send(response, 409, '{"error":"","code":"Interrupted"}');
    if (exec === "odd") return send(response, 200, "{}");
    if (exec === "missing" || !this.vms.has(id)) return send(response, 404, "No such machine\n");
    const result = ExecResult.parse({ exitCode: 0, stdout: JSON.stringify(asked), stderr: "" });
    const body = JSON.stringify(result);
    if (exec === "ok") return send(response, 200, body);
    // Dies in the middle of its answer, after a status that says all is well.
    response.writeHead(200, { "content-length": body.length });
    response.write(body.slice(0, 5), () => response.destroy());
  }

  #metrics(id: string, response: ServerResponse): void {
    const { metrics } = this.mode;
    if (metrics === "drop") return void response.destroy();
    if (metrics === "fault") return send(response, 500, "a bug");
    if (metrics === "odd") return send(response, 200, "{}");
    if (metrics === "missing" || !this.vms.has(id)) return send(response, 404, "No such machine\n");
    send(response, 200, JSON.stringify(METRICS));
  }
}
