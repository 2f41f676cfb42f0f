// The sdk on real machines: what it starts goes on over a pause, a fork and a snapshot.
import { ConnectionError, ControlError, type Sandbox, Svc } from "@svc/sdk/index.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RealMachines } from "../support/process/real-machines.ts";
import { missingMachine } from "../vm-host/rig/needs.ts";

const LONG = 600_000;

describe.skipIf(await missingMachine())("real machines", { timeout: LONG }, () => {
  let machines: RealMachines;
  let svc: Svc;
  let box: Sandbox;
  beforeAll(async () => {
    machines = await RealMachines.start({ SVC_PREVIEW_DOMAIN: "preview.localhost" });
    const { gateway, key } = machines;
    // Emulated machines on a busy computer take their time.
    svc = new Svc({ apiKey: key, baseUrl: gateway.url.origin, timeoutMs: LONG, maxRetries: 20 });
    box = await svc.sandboxes.create({ metadata: { of: "sdk" } });
  }, LONG);
  afterAll(() => machines?.close());

  test("commands, files, code and git are the machine's own", async () => {
    expect(box.created).toMatchObject({ kind: "sandbox", isolation: "dedicated" });
    const { stdout } = await box.commands.sh("id -un; uname -s");
    expect(stdout).toBe("root\nLinux\n");
    expect(await box.exec("printf", ["%s", "one request"])).toMatchObject({
      stdout: "one request",
    });
    const bytes = new Uint8Array(3_000_000).map((_, at) => at & 0xff);
    await box.files.write("/root/made/bytes", bytes);
    expect(Buffer.compare(await box.files.readBytes("/root/made/bytes"), bytes)).toBe(0);
    const part = await box.transfer.download("/root/made/bytes", { offset: 256, length: 4 });
    expect(new Uint8Array(await new Response(part).arrayBuffer())).toEqual(bytes.slice(256, 260));
    await box.transfer.upload("/root/made/up", new Blob(["up"]).stream());
    expect(await box.files.read("/root/made/up")).toBe("up");
    const code = "import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4])\nplt.show()\nkept = 41";
    const { charts, results } = await box.code.run(code);
    expect(charts).toMatchObject([{ type: "line" }]);
    expect(results[0]?.png).toMatch(/^iVBOR/);
    expect(await box.metrics()).toMatchObject({ contextScoped: false });
    expect((await box.preview(3000)).url("/a?b=1")).toMatch(
      /-3000\.preview\.localhost.*\/a\?b=1&svc_token=/,
    );
  });

  test("a process and variables go on over a pause; a paused machine is said to be paused", async () => {
    const process = await box.commands.start("sh", ["-c", "read line; echo got $line"]);
    await box.pause();
    await expect(box.commands.run("true")).rejects.toMatchObject({
      name: ControlError.name,
      code: "NotRunning",
    });
    await box.resume();
    await process.write("it\n");
    let text = "";
    for await (const { data } of process.output()) text += data;
    expect(text).toBe("got it\n");
    expect((await box.code.run("kept + 1")).results[0]?.text).toBe("42");
  });

  test("a fork has the files and variables of its snapshot, and is destroyed at the end of its block", async () => {
    const { snapshotId } = await box.snapshot({ name: "sdk" });
    let id = "";
    {
      await using fork = await svc.sandboxes.fork(snapshotId);
      ({ id } = fork);
      expect((await fork.code.run("kept")).results[0]?.text).toBe("41");
      await fork.files.write("/root/made/up", "other");
    }
    expect(await svc.sandboxes.get(id)).toMatchObject({ state: "gone" });
    expect(await box.files.read("/root/made/up")).toBe("up");
    await box.files.write("/root/made/up", "changed");
    await box.revert(snapshotId);
    expect(await box.files.read("/root/made/up")).toBe("up");
  });

  test("what is destroyed is gone for every call", async () => {
    await box.kill();
    const error = await box.commands.run("true").catch((reason: unknown) => reason);
    expect(error).not.toBeInstanceOf(ConnectionError);
    expect(String(error)).toMatch(/gone|no such|There is no/i);
  });
});
