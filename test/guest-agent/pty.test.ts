import { afterAll, beforeAll, expect, test } from "vitest";
import { descendants } from "../support/process/process-tree.ts";
import { AgentRig, Output } from "./rig.ts";

let rig: AgentRig;
beforeAll(async () => void (rig = await AgentRig.start()));
afterAll(() => rig.close());

/** What a terminal shows, and a way to wait for a text in it. */
class Screen {
  readonly output = new Output();
  #wake: () => void = () => {};
  readonly onBytes: Output["onBytes"] = (channel, bytes) => {
    this.output.onBytes(channel, bytes);
    this.#wake();
  };

  get text(): string {
    return this.output.stdout.toString();
  }

  async shows(text: string): Promise<void> {
    while (!this.text.includes(text)) await new Promise<void>((resolve) => (this.#wake = resolve));
  }
}

async function open(script: string, size = { cols: 80, rows: 24 }) {
  const { client, connection } = rig.bulk.customer();
  const { id } = await client.ask("pty.open", { ...size, cmd: "bash", args: ["-c", script] });
  const screen = new Screen();
  const { result, stream } = client.call("pty.attach", { id }, { onBytes: screen.onBytes });
  const type = (text: string) => stream.write(0, Buffer.from(text));
  return { id, client, connection, screen, result, type };
}

test("a program sees a terminal of the size asked, and what is typed", async () => {
  const { result, screen, type } = await open(
    'test -t 0 && test -t 1 && test -t 2 && tty; stty size; echo $TERM; read x; echo "got <$x>"; exit 4',
    { cols: 100, rows: 30 },
  );
  await screen.shows("xterm-256color");
  await type("hi\r");
  expect(await result).toEqual({ exitCode: 4 });
  expect(screen.text).toMatch(
    /^\/dev\/pts\/\d+\r\n30 100\r\nxterm-256color\r\nhi\r\ngot <hi>\r\n$/,
  );
});

test("without cmd it is a login shell with job control", async () => {
  const { client } = rig.bulk.customer();
  const { id } = await client.ask("pty.open", { cols: 80, rows: 24 });
  const screen = new Screen();
  const { result, stream } = client.call("pty.attach", { id }, { onBytes: screen.onBytes });
  await stream.write(
    0,
    Buffer.from("shopt -q login_shell && echo lo''gin; [[ $- == *m* ]] && echo jo''bs; exit 0\r"),
  );
  expect(await result).toEqual({ exitCode: 0 });
  expect(screen.text).toContain("login\r\n");
  expect(screen.text).toContain("jobs\r\n");
  expect(screen.text).not.toContain("no job control");
});

test("a new size reaches the program", async () => {
  const { id, client, screen, result, type } = await open(
    "trap 'stty size; read x; exit 0' WINCH; echo up; while :; do sleep 0.01; done",
  );
  await screen.shows("up");
  expect(await client.ask("pty.resize", { id, cols: 132, rows: 50 })).toEqual({ ok: true });
  await screen.shows("50 132");
  const { ptys } = await client.ask("pty.list", {});
  expect(ptys.find((one) => one.id === id)).toMatchObject({ cols: 132, rows: 50, cmd: "bash" });
  await type("\r");
  expect(await result).toEqual({ exitCode: 0 });
});

test("Ctrl-C interrupts and Ctrl-D ends the input", async () => {
  const { screen, result, type } = await open(
    "trap 'echo int' INT; echo up; until cat; do :; done; echo over",
  );
  await screen.shows("up");
  await type("\u0003");
  await screen.shows("int");
  await type("\u0004");
  expect(await result).toEqual({ exitCode: 0 });
  expect(screen.text).toContain("over");
});

test("a terminal outlives its connection and is taken up where it was left", async () => {
  const first = await open("echo one; read x; echo two; read x; exit 0");
  await first.screen.shows("one\r\n");
  rig.bulk.link.close(first.connection, "dropped");
  await expect(first.result).rejects.toMatchObject({ data: { code: "Disconnected" } });
  const { client } = rig.bulk.customer();
  const screen = new Screen();
  const from = first.screen.output.bytes;
  const { result, stream } = client.call(
    "pty.attach",
    { id: first.id, from },
    { onBytes: screen.onBytes },
  );
  await stream.write(0, Buffer.from("a\r"));
  await screen.shows("two");
  await stream.write(0, Buffer.from("b\r"));
  expect(await result).toEqual({ exitCode: 0 });
  expect(screen.text).toBe("a\r\ntwo\r\nb\r\n");
});

test("close ends everything in it, and the id is gone", async () => {
  const { id, client, screen, result } = await open("(setsid sleep 86431 &); echo up; sleep 86431");
  await screen.shows("up");
  expect(await client.ask("pty.close", { id })).toEqual({ ok: true });
  expect(await result).toEqual({ exitCode: 137 });
  await expect.poll(() => descendants(rig.pid, "sleep 86431")).toEqual([]);
  const again = client.ask("pty.close", { id });
  await expect(again).rejects.toMatchObject({ data: { code: "NotFound" } });
});

test("2 MB of output to a terminal arrive whole", async () => {
  const { screen, result } = await open("stty -opost; seq -f %07.0f 250000");
  expect(await result).toEqual({ exitCode: 0 });
  const lines = Array.from({ length: 250_000 }, (_, at) => String(at + 1).padStart(7, "0"));
  expect(screen.text === `${lines.join("\n")}\n`).toBe(true);
});

test("a size of nothing is refused, a program that is missing ends with 127", async () => {
  const { client } = rig.bulk.customer();
  await expect(client.ask("pty.open", { cols: 0, rows: 24 })).rejects.toMatchObject({
    code: -32_602,
    data: { field: "cols" },
  });
  const { id } = await client.ask("pty.open", { cols: 80, rows: 24, cmd: "no-such" });
  expect(await client.ask("pty.attach", { id })).toEqual({ exitCode: 127 });
});
