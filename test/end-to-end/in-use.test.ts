import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { ExecResult } from "@svc/contract/vm/exec.ts";
import { SignedFileUrl } from "@svc/contract/vm/files.ts";
import { Preview } from "@svc/contract/vm/preview.ts";
import { SandboxCreated, SandboxList } from "@svc/contract/vm/sandbox.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { type ControlClient, openControlClient } from "../support/process/control-client.ts";
import { RealMachines } from "../support/process/real-machines.ts";
import { serverInside } from "../support/process/server-inside.ts";
import { missingMachine } from "../vm-host/rig/needs.ts";

// Emulated machines on a busy computer: waits are for what happens, these only end what never does.
const PATIENCE = { timeout: 300_000, interval: 500 };
const LONG = 900_000;
/** Each use takes longer than any of the windows. */
const USE_S = 5;
const LINES = Array.from({ length: USE_S }, (_, at) => String(at + 1));
/** How long a use may take on a busy computer. */
const USE_MOST_MS = 60_000;
const COUNT = `for n in ${LINES.join(" ")}; do echo $n; sleep 1; done`;
const MIB = 1024 * 1024;
const DOWNLOAD_MIB = 32;
const UPLOAD_BYTES = 64 * 1024;

/** Each kind of rest, with the shortest windows there are. */
const RESTS = [
  { rest: "a park", body: { timeoutMs: 600_000, lifecycle: { parkAfterMs: 2000 } } },
  { rest: "an idle pause", body: { timeoutMs: 4000, lifecycle: { autoResume: true } } },
  {
    rest: "hibernation",
    body: {
      timeoutMs: 600_000,
      lifecycle: { parkAfterMs: 2000, hibernateAfterParkedMs: 2000, autoResume: true },
    },
  },
];

/** Says an event each second: as server-sent events, and in messages of a WebSocket. */
const SERVER = serverInside(`
        key = self.begin()
        for n in range(1, ${USE_S + 1}):
            event = f"data: {n}\\n\\n".encode()
            self.wfile.write(bytes([0x81, len(event)]) + event if key else event)
            self.wfile.flush()
            time.sleep(1)
        if key:
            self.wfile.write(bytes([0x88, 0]))
`);

/** A use that the machine does not end has been broken off by its rest. */
const inTime = <T>(use: Promise<T>): Promise<T> =>
  Promise.race([
    use,
    pause(USE_MOST_MS, null, { ref: false }).then(() => {
      throw new Error("it does not end");
    }),
  ]);

const EVENTS = LINES.map((line) => `data: ${line}\n\n`).join("");

describe.skipIf(await missingMachine())("a machine in use", { timeout: LONG }, () => {
  let machines: RealMachines;
  beforeAll(async () => {
    const vars = { SVC_PREVIEW_DOMAIN: "preview.localhost" };
    machines = await RealMachines.start(vars);
  }, LONG);
  afterAll(() => machines?.close());

  async function create(body: object): Promise<SandboxCreated> {
    const response = await vi.waitFor(async () => {
      const answer = await machines.call("/sandboxes", "POST", { memMb: 512, ...body });
      if (answer.status >= 500) throw new Error(await answer.text());
      return answer;
    }, PATIENCE);
    return SandboxCreated.parse(await response.json());
  }

  async function sh(id: string, line: string): Promise<string> {
    const body = { cmd: "sh", args: ["-c", line] };
    const answer = await machines.call(`/sandboxes/${id}/exec`, "POST", body);
    if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
    return ExecResult.parse(await answer.json()).stdout;
  }

  async function fileUrl(id: string, mode: "download" | "upload", path: string): Promise<string> {
    const query = `?path=${encodeURIComponent(path)}`;
    const answer = await machines.call(`/sandboxes/${id}/files/${mode}-url${query}`);
    return SignedFileUrl.parse(await answer.json()).url;
  }

  /** How the server inside is asked, as a browser would: Node itself finds no *.localhost. */
  async function previewOf(id: string) {
    const minted = await machines.call(`/sandboxes/${id}/ports/8000`);
    const { url, token } = Preview.parse(await minted.json());
    const { hostname, port } = machines.gateway.url;
    return { hostname, port, headers: { host: new URL(url).host, "x-svc-preview-token": token } };
  }

  async function onControl(
    { controlUrl }: SandboxCreated,
    work: (control: ControlClient) => Promise<void>,
  ): Promise<void> {
    const control = await openControlClient(controlUrl);
    await control.hello;
    await work(control);
    control.socket.close();
  }

  /** The uses: each ends well only if the machine is in use for as long as it takes. */
  const USES: Record<string, (made: SandboxCreated) => Promise<void>> = {
    "exec that prints": async ({ sandboxId: id }) => {
      expect(await sh(id, COUNT)).toBe(`${LINES.join("\n")}\n`);
    },
    "a foreground command that prints": (made) =>
      onControl(made, async ({ client }) => {
        let said = "";
        const params = { cmd: "sh", args: ["-c", COUNT], stream: true };
        const onBytes = (_channel: number, bytes: Uint8Array): void => {
          said += Buffer.from(bytes).toString();
        };
        const { result } = client.call("commands.run", params, { onBytes });
        expect(await result).toMatchObject({ exitCode: 0 });
        expect(said).toBe(`${LINES.join("\n")}\n`);
      }),
    "a foreground command that says nothing": (made) =>
      onControl(made, async ({ client }) => {
        const params = { cmd: "sleep", args: [String(USE_S)] };
        expect(await client.ask("commands.run", params)).toMatchObject({ exitCode: 0 });
      }),
    "a terminal that prints": (made) =>
      onControl(made, async ({ client }) => {
        const { id } = await client.ask("pty.open", {
          cols: 80,
          rows: 24,
          cmd: "sh",
          args: ["-c", COUNT],
        });
        expect(await client.ask("pty.attach", { id })).toEqual({ exitCode: 0 });
      }),
    "a command each half second": (made) =>
      onControl(made, async ({ client }) => {
        for (let at = 0; at < 2 * USE_S; at += 1) {
          expect(await client.ask("commands.run", { cmd: "true" })).toMatchObject({ exitCode: 0 });
          await pause(500);
        }
      }),
    "a download that is read slowly": async ({ sandboxId: id }) => {
      const answer = await fetch(await fileUrl(id, "download", "/root/large"));
      let bytes = 0;
      for await (const chunk of answer.body ?? []) {
        const before = Math.floor((bytes * USE_S) / (DOWNLOAD_MIB * MIB));
        bytes += chunk.length;
        const after = Math.floor((bytes * USE_S) / (DOWNLOAD_MIB * MIB));
        if (after > before) await pause(1000);
      }
      expect(bytes).toBe(DOWNLOAD_MIB * MIB);
    },
    "an upload that comes slowly": async ({ sandboxId: id }) => {
      const chunks = async function* () {
        for (const _line of LINES) {
          yield Buffer.alloc(UPLOAD_BYTES, "x");
          await pause(1000);
        }
      };
      const init = { method: "PUT", body: chunks(), duplex: "half" } as const;
      const answer = await fetch(await fileUrl(id, "upload", "/root/slow"), init);
      expect(await answer.json()).toMatchObject({ ok: true, bytes: USE_S * UPLOAD_BYTES });
    },
    "server-sent events of a preview": async ({ sandboxId: id }) => {
      const asked = httpRequest({ ...(await previewOf(id)), path: "/events" });
      asked.end();
      const [answer] = (await once(asked, "response")) as [IncomingMessage];
      expect(await text(answer)).toBe(EVENTS);
    },
    "a socket of a preview on which the server alone speaks": async ({ sandboxId: id }) => {
      const { hostname, port, headers } = await previewOf(id);
      const socket = new WebSocket(`ws://${hostname}:${port}/socket`, { headers });
      let said = "";
      socket.on("message", (data: Buffer) => (said += data.toString()));
      socket.on("error", () => socket.terminate());
      await once(socket, "close");
      expect(said).toBe(EVENTS);
    },
  };

  const isPaused = (id: string): Promise<void> =>
    vi.waitFor(async () => {
      const { sandboxes } = SandboxList.parse(await (await machines.call("/sandboxes")).json());
      expect(sandboxes.find(({ sandboxId }) => sandboxId === id)?.state).toBe("paused");
    }, PATIENCE);

  /** A machine that works in the background takes processor time until it is parked. Metrics are no use of it. */
  async function isParked(id: string): Promise<void> {
    await sh(id, "setsid sh -c 'while :; do :; done' >/dev/null 2>&1 &");
    await vi.waitFor(async () => {
      const answer = await machines.call(`/sandboxes/${id}/metrics`);
      expect(await answer.json()).toMatchObject({ cpuPct: 0 });
    }, PATIENCE);
  }

  // They wait for time to pass, so they wait together.
  test.concurrent.each(RESTS)(
    "is left alone by $rest, whatever uses it",
    async ({ rest, body }) => {
      const made = await create(body);
      const { sandboxId: id } = made;
      const server = `cat > /root/server.py <<'END'\n${SERVER}\nEND\n`;
      const ready = "while ! nc -z 127.0.0.1 8000; do sleep 0.1; done";
      const start = "setsid python3 /root/server.py >/dev/null 2>&1 &";
      await sh(id, `truncate -s ${DOWNLOAD_MIB}M /root/large; ${server}${start}\n${ready}`);
      const failed: Record<string, unknown> = {};
      for (const [name, use] of Object.entries(USES)) {
        await inTime(use(made)).catch((error: unknown) => (failed[name] = error));
      }
      expect(failed).toEqual({});
      // And rests once nothing uses it any more.
      await (rest === "a park" ? isParked(id) : isPaused(id));
      // A parked machine answers at once, a paused one once it is resumed.
      await onControl(made, async ({ client }) => {
        expect(await client.ask("rpc.ping", {})).toEqual({});
      });
      await machines.call(`/sandboxes/${id}`, "DELETE");
    },
  );
});
