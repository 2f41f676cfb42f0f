import { once } from "node:events";
import { describe, expect, test } from "vitest";
import type { FakeVmMode } from "../../support/fakes/vm-host.ts";
import { forged } from "../caller.ts";
import { open, upgrade } from "../sockets.ts";
import type { Machine, VmService } from "../vm-caller.ts";

const refused = (status: number) => ({
  status,
  type: expect.stringMatching(/^text\/plain/),
  text: expect.stringMatching(/./),
  socket: null,
});

/** Document 2: /control/:id and /stream/:id. */
export function sockets(service: VmService): void {
  const kinds = [
    { name: "control", surface: "/sandboxes", urlOf: ({ controlUrl }: Machine) => controlUrl },
    { name: "stream", surface: "/desktops", urlOf: ({ streamUrl }: Machine) => streamUrl },
  ] as const;
  const served = kinds.filter(({ surface }) => service.surfaces.includes(surface));

  describe.each(served)("an upgrade of /$name", ({ name, surface, urlOf }) => {
    const ask = (id: string) =>
      upgrade(new URL(`/${name}/${encodeURIComponent(id)}`, service.base));

    test("asks no key: the URL is the capability, whatever Authorization comes with it", async () => {
      await using machine = await (await service.newOrg()).make(surface);
      for (const headers of [{}, { authorization: "Bearer wrong" }]) {
        const { status, socket } = await upgrade(urlOf(machine), headers);
        expect(status).toBe(101);
        socket?.terminate();
      }
    });

    test("of a malformed, cut or forged id is 404 as plain text", async () => {
      await using machine = await (await service.newOrg()).make(surface);
      const { id } = machine;
      for (const wrong of ["nope", id.slice(0, -1), forged(id), `${id}.x`])
        expect(await ask(wrong)).toEqual(refused(404));
    });

    test("of a machine that is deleted is 404", async () => {
      const org = await service.newOrg();
      await using machine = await org.make(surface);
      await org.delete(machine.path);
      expect(await upgrade(urlOf(machine))).toEqual(refused(404));
    });

    test.runIf(service.can.has("snapshots"))("of a machine that is paused is 409", async () => {
      await using machine = await (await service.newOrg()).make(surface);
      await machine.act("pause");
      expect(await upgrade(urlOf(machine))).toEqual(refused(409));
    });

    test.runIf(service.can.has("snapshots"))("with autoResume wakes it first", async () => {
      const org = await service.newOrg();
      await using machine = await org.make(surface, { lifecycle: { autoResume: true } });
      await machine.act("pause");
      (await open(urlOf(machine))).terminate();
      expect(await machine.record()).toMatchObject({ state: "running" });
    });

    describe.runIf(service.faults)("of a machine whose host", () => {
      test.each<[FakeVmMode["upgrade"], number]>([
        ["fault", 502],
        ["drop", 502],
        ["missing", 404],
      ])("answers %s is %i as plain text", async (mode, status) => {
        await using machine = await (await service.newOrg()).make(surface);
        using _ = service.steer({ upgrade: mode });
        expect(await upgrade(urlOf(machine))).toEqual(refused(status));
      });

      test("echoes gets every byte both ways, and its close code", async () => {
        await using machine = await (await service.newOrg()).make(surface);
        const socket = await open(urlOf(machine));
        const bytes = Buffer.from([0, 255, 1, 2]);
        socket.send(bytes);
        const [data] = (await once(socket, "message")) as [Buffer];
        expect(data.equals(bytes)).toBe(true);
        socket.send("close 4404");
        const [code] = (await once(socket, "close")) as [number];
        expect(code).toBe(4404);
      });
    });
  });

  test("a sandbox has no screen: 404", async () => {
    await using machine = await (await service.newOrg()).make();
    const url = new URL(`/stream/${encodeURIComponent(machine.id)}`, service.base);
    expect(await upgrade(url)).toEqual(refused(404));
  });
}
