import { once } from "node:events";
import type { PlaceVm } from "@svc/contract/host-protocol/vms.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pause, resume, snapshot } from "../rig/acts.ts";
import { WebSocket, createWebSocketStream } from "ws";
import { RfbClient } from "../../../vm-host/screen/rfb-client.ts";
import { missingDesktop } from "../rig/needs.ts";
import { Rig } from "../rig/rig.ts";

const MACHINE_MS = 400_000;

const DESKTOP: Partial<PlaceVm> = {
  kind: "desktop",
  source: { type: "image", name: "desktop" },
  memMb: 2048,
  resolution: "1280x720",
};
const SNAPSHOT = `snap_${"1".repeat(24)}`;
/** The size of the screen, as its programs see it. */
const SIZE = "xdpyinfo | sed -n 's/.*dimensions: *\\([0-9x]*\\) .*/\\1/p'";
const POINTER = "xdotool getmouselocation | cut -d' ' -f1,2";
const never = new Promise<never>(() => {});
const SCREEN_PID = "pidof Xtigervnc";

describe.skipIf(await missingDesktop())("desktops", { timeout: MACHINE_MS }, () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start({ env: { SVC_WARM_DESKTOP: "1" } });
    await rig.able();
    await rig.gateway.beat(({ capabilities }) => capabilities.includes("desktop"));
    await rig.place("one", { ...DESKTOP, resolution: "1024x768" });
  }, 2 * MACHINE_MS);
  afterAll(() => rig?.stop());

  /** A viewer's socket that is open, and how it will close. */
  async function viewerSocket(rest = "stream") {
    const { url, headers } = await rig.socket("one", rest);
    const socket = new WebSocket(url, ["binary"], { headers });
    const closed = once(socket, "close").then(([code, reason]) => [code, String(reason)]);
    // Of one that is refused it is the error.
    closed.catch(() => null);
    await once(socket, "open");
    return { socket, closed };
  }

  async function view(rest = "stream"): Promise<RfbClient> {
    const { url, headers } = await rig.socket("one", rest);
    const socket = new WebSocket(url, ["binary"], { headers });
    // Before the socket is open: the first words of the screen may come with the answer.
    const stream = createWebSocketStream(socket);
    await once(socket, "open");
    return RfbClient.open(stream);
  }

  const lastUse = (): number =>
    rig.gateway.last?.vms.find(({ id }) => id === "one")?.lastActivityAt ?? 0;

  test("have a screen of the size that was asked for, with window manager and panel", async () => {
    expect(await rig.sh("one", SIZE)).toBe("1024x768");
    const drawn = "until xdotool search --onlyvisible --class tint2; do sleep 0.2; done; wmctrl -m";
    expect(await rig.sh("one", drawn)).toMatch(/Name: Openbox/);
  });

  test("are seen and used by viewers, and only seen by those that only watch", async () => {
    const [viewer, watcher] = await Promise.all([view(), view("stream?view=1")]);
    const { width, height, pixels } = await watcher.capture();
    expect([width, height]).toEqual([1024, 768]);
    // More than one colour: the panel and the empty screen at least.
    expect(
      new Set(new Uint32Array(pixels.buffer, pixels.byteOffset, 1024 * 768)).size,
    ).toBeGreaterThan(10);
    viewer.pointer(100, 200, 0);
    await viewer.capture();
    expect(await rig.sh("one", POINTER)).toBe("x:100 y:200");
    watcher.pointer(300, 300, 0);
    await watcher.capture();
    expect(await rig.sh("one", POINTER)).toBe("x:100 y:200");
    for (const one of [viewer, watcher]) one.close();
  });

  test("are in use while somebody watches, and their viewers are told of a pause", async () => {
    const { socket, closed } = await viewerSocket();
    const before = Date.now();
    await expect.poll(() => lastUse()).toBeGreaterThan(before);
    await pause(rig, "one");
    expect(await closed).toEqual([4409, "the sandbox was paused"]);
    await resume(rig, "one");
    socket.terminate();
  });

  test("have 16 viewers at most", async () => {
    const viewers = await Promise.all(Array.from({ length: 16 }, () => viewerSocket()));
    await expect(viewerSocket()).rejects.toThrow("429");
    const [first] = viewers;
    first?.socket.close();
    await first?.closed;
    // The place is free a moment after the viewer knows that it is gone.
    await expect
      .poll(() => viewerSocket().then(({ socket }) => viewers.push({ socket, closed: never })))
      .toBe(17);
    for (const { socket } of viewers) socket.terminate();
  });

  test("go on after a pause with the same screen, the same windows and the same size", async () => {
    await rig.sh("one", "setsid lxterminal -t here >/dev/null 2>&1 &");
    const windows = "until wmctrl -l | grep here; do sleep 0.2; done";
    await rig.sh("one", windows);
    const before = await rig.sh("one", SCREEN_PID);
    await pause(rig, "one");
    await resume(rig, "one");
    expect(await rig.sh("one", SCREEN_PID)).toBe(before);
    expect(await rig.sh("one", windows)).toMatch(/here/);
    expect(await rig.sh("one", SIZE)).toBe("1024x768");
  });

  test("are forked with their screen as it was", async () => {
    await snapshot(rig, "one", SNAPSHOT);
    const source = { type: "snapshot", id: SNAPSHOT, recordPath: "" } as const;
    // The gateway asks for no size of a fork.
    const { resolution: _size, ...fork } = DESKTOP;
    const { how } = await rig.place("fork", { ...fork, source });
    expect(how).toBe("fork");
    expect(await rig.sh("fork", `${SIZE}; wmctrl -l | grep -o here`)).toBe("1024x768\nhere");
    await rig.delete("fork");
  });

  test("get another screen where theirs has ended, of the size that they were made with", async () => {
    const before = await rig.sh("one", SCREEN_PID);
    await rig.sh("one", "pkill -KILL Xtigervnc");
    const another = `until [ "$(${SCREEN_PID})" != "${before}" ] && wmctrl -m; do sleep 0.2; done`;
    await rig.sh("one", another);
    expect(await rig.sh("one", SIZE)).toBe("1024x768");
    await rig.delete("one");
  });

  test("of the common size are warm once their golden machine is there", async () => {
    const isWarm = async (): Promise<string> => {
      const { how } = await rig.place("warm", DESKTOP);
      if (how !== "warm") await rig.delete("warm");
      return how;
    };
    await expect.poll(isWarm, { timeout: MACHINE_MS, interval: 15_000 }).toBe("warm");
    expect(await rig.sh("warm", `${SIZE}; wmctrl -m | grep Name`)).toBe("1280x720\nName: Openbox");
  });

  test("of an image that is not there are refused: it is a capability that this host lacks", async () => {
    const response = await rig.put("other", {
      ...DESKTOP,
      source: { type: "image", name: "nonsense" },
    });
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ missingCapabilities: ["image"] });
  });
});
