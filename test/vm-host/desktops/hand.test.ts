import { writeFileSync } from "node:fs";
import type { PlaceVm } from "@svc/contract/host-protocol/vms.ts";
import { afterAll, beforeAll, describe, test } from "vitest";
import { openControlClient } from "../../support/process/control-client.ts";
import { Rig } from "../rig/rig.ts";

const ask = (name: string): Partial<PlaceVm> => ({
  kind: "desktop",
  source: { type: "image", name },
  memMb: 2048,
  resolution: "1280x720",
});
describe("by hand", { timeout: 900_000 }, () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await Rig.start();
    await rig.able();
    await rig.gateway.beat(({ images }) =>
      images.some(
        ({ name, state }) => name === (process.env.HAND ?? "office") && state === "ready",
      ),
    );
  }, 900_000);
  afterAll(() => rig?.stop());
  async function shot(id: string, name: string) {
    const { url, headers } = await rig.socket(id);
    const { client, socket } = await openControlClient(url, headers);
    const parts: Buffer[] = [];
    await client.call(
      "computer.screenshot",
      {},
      { onBytes: (_c, b) => void parts.push(Buffer.from(b)) },
    ).result;
    writeFileSync(`/tmp/shot-${name}.png`, Buffer.concat(parts));
    socket.terminate();
  }
  const timed = async <T>(what: string, work: Promise<T>): Promise<T> => {
    const at = performance.now();
    try {
      return await work;
    } finally {
      console.log(what, Math.round(performance.now() - at));
    }
  };
  const soon = async (id: string, name: string, title: string) => {
    await timed(
      `${name} window`,
      rig.sh(
        id,
        `until wmctrl -l | grep -i '${title}'; do sleep 0.5; done; sleep 8; wmctrl -l`,
        400_000,
      ),
    );
    await shot(id, name);
  };
  test.skipIf(process.env.HAND === "code")("office", async () => {
    console.log(await timed("place office", rig.place("office", ask("office"))));
    await rig.sh(
      "office",
      "until wmctrl -m && xdotool search --onlyvisible --class tint2; do sleep 0.2; done",
      400_000,
    );
    await rig.sh(
      "office",
      "printf 'name,count\\napples,3\\npears,4\\n' > /root/table.csv; echo 'Hello from the office: fünf 漢字' > /root/text.txt",
    );
    await rig.sh("office", "setsid libreoffice --writer /root/text.txt >/tmp/lo.log 2>&1 &");
    await soon("office", "writer", "Writer");
    console.log(await rig.sh("office", "cat /tmp/lo.log; df -h / | tail -1; free -m | head -2"));
    await rig.sh("office", "setsid libreoffice --impress >/dev/null 2>&1 &");
    await soon("office", "impress", "Impress");
    await rig.sh("office", "setsid libreoffice --calc >/dev/null 2>&1 &");
    await soon("office", "calc", "Calc");
  });
  test.skipIf(process.env.HAND === "office")("code", async () => {
    console.log(await timed("place code", rig.place("code", ask("code"))));
    await rig.sh(
      "code",
      "until wmctrl -m && xdotool search --onlyvisible --class tint2; do sleep 0.2; done",
      400_000,
    );
    await rig.sh(
      "code",
      "mkdir -p /workspace/app && cd /workspace/app && printf 'def add(a, b):\\n    return a + b\\n\\nprint(add(1, 2))\\n' > main.py && git init -q . ; setsid geany main.py >/tmp/geany.log 2>&1 &",
    );
    await soon("code", "code", "geany");
    console.log(await rig.sh("code", "cat /tmp/geany.log; df -h / | tail -1"));
  });
});
