import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { expect, test, vi } from "vitest";
import { Observer } from "../support/process/observer.ts";
import { type WatchingRig, claimsOf, refusalOf } from "../support/process/watching-rig.ts";

const PATIENCE = { timeout: 90_000, interval: 100 };

/** The tests of taking a session over. They share the rig of those that watch. */
export function takeOverCases(rig: WatchingRig): void {
  test("a person clicks, types, pastes and scrolls; the hand-off is shown by REST, and done", async () => {
    const { id, page } = await rig.driven("form");
    const { url, token, handoff, expiresInSeconds } = await rig.liveToken(id);
    expect(handoff.status).toBe("pending");
    expect(expiresInSeconds).toBeGreaterThan(590);
    expect(url + claimsOf(token)).not.toContain(id);
    const person = await Observer.open(url);
    person.send({ type: "options", maxWidth: 640 });
    await person.until(({ last }) => last?.head.scale === 0.5);
    expect(person.texts[0]).toMatchObject({ type: "hello", mode: "control" });
    expect((await rig.read(id)).handoff).toMatchObject({ id: handoff.id, status: "active" });
    // The field is at 100, 100 of the page, which is 50, 50 of a frame of half the size.
    person.send({ type: "mouse", action: "move", x: 60, y: 60 });
    for (const action of ["down", "up"])
      person.send({ type: "mouse", action, x: 60, y: 60, button: "left", clicks: 1 });
    for (const key of ["a", "b"]) {
      person.send({ type: "key", action: "down", key, code: `Key${key.toUpperCase()}`, text: key });
      person.send({ type: "key", action: "up", key, code: `Key${key.toUpperCase()}` });
    }
    person.send({ type: "text", text: " ünd mehr" });
    for (const action of ["down", "up"])
      person.send({ type: "key", action, key: "Backspace", code: "Backspace" });
    person.send({ type: "mouse", action: "wheel", x: 60, y: 60, dy: 300 });
    await vi.waitFor(async () => {
      expect(await page.inputValue("#field")).toBe("ab ünd meh");
      expect(await page.evaluate("scrollY")).toBe(300);
    }, PATIENCE);
    await person.until(({ last }) => last?.head.sy === 300);
    expect(await page.evaluate("trusted")).toBe(true);
    for (const action of ["down", "up"])
      person.send({ type: "key", action, key: "Enter", code: "Enter" });
    await vi.waitFor(async () => expect(await page.title()).toBe("Sent"), PATIENCE);
    person.send({ type: "handoff", action: "done" });
    await person.until(({ closed }) => closed?.code === CLOSE_CODES.normal);
    await vi.waitFor(
      async () => expect((await rig.read(id)).handoff?.status).toBe("completed"),
      PATIENCE,
    );
    expect(await refusalOf(url)).toMatch(/^404 The hand-off is over/);
    await rig.release(id);
  });

  test("a person goes to pages and between tabs, and answers dialogs", async () => {
    // The Playwright of /ws answers dialogs itself, while it is needed.
    const { sessionId: id } = await rig.created({ lease: { idleSeconds: 600 } });
    const { url } = await rig.liveToken(id);
    const person = await Observer.open(url);
    await person.until(({ last }) => last !== undefined);
    person.send({ type: "nav", action: "goto", url: `${rig.site.url}still` });
    await person.until(({ pages }) => pages[0]?.title === "Still");
    person.send({ type: "nav", action: "goto", url: `${rig.site.url}asks` });
    await person.until(({ texts }) =>
      texts.some((t) => t.type === "dialog" && t.kind === "prompt"),
    );
    expect(person.texts.findLast(({ type }) => type === "dialog")).toMatchObject({
      message: "Who?",
      text: "nobody",
    });
    person.send({ type: "dialog", action: "accept", text: "Ada" });
    await person.until(({ pages }) => pages[0]?.title === "Ada");
    person.send({ type: "nav", action: "goto", url: "file:///etc/passwd" });
    await person.until(({ texts }) =>
      texts.some((t) => t.type === "error" && t.code === "Malformed"),
    );
    person.send({ type: "nav", action: "back" });
    await person.until(({ pages }) => pages[0]?.title === "Still");
    person.send({ type: "tab", action: "new" });
    await person.until(({ pages, last }) => pages.length === 2 && last?.head.page === pages[1]?.id);
    const first = person.pages[0]?.id;
    person.send({ type: "tab", action: "show", page: first });
    await person.until(({ last }) => last?.head.page === first);
    person.send({ type: "tab", action: "close", page: person.pages[1]?.id });
    await person.until(({ pages }) => pages.length === 1);
    person.send({ type: "handoff", action: "cancel" });
    await person.until(({ closed }) => closed?.code === CLOSE_CODES.normal);
    await rig.release(id);
  });

  test("a person gives a page files, which go past the socket; a page gets no other file", async () => {
    const { id, page } = await rig.driven("files");
    const person = await Observer.open((await rig.liveToken(id)).url);
    await person.until(({ last }) => last !== undefined);
    const click = (x: number, y: number): void => {
      for (const action of ["down", "up"])
        person.send({ type: "mouse", action, x, y, button: "left", clicks: 1 });
    };
    const asked = (kind: string): Promise<void> =>
      person.until(({ texts }) => {
        const last = texts.findLast((text) => text.type === "fileChooser");
        return last?.kind === kind;
      });
    const bring = async (name: string, body: string): Promise<void> => {
      person.send({ type: "askUpload", name });
      const offered = (): string[] =>
        person.texts.flatMap((text) =>
          text.type === "upload" && text.name === name ? [text.path] : [],
        );
      await person.until(() => offered().length > 0);
      const [path = ""] = offered();
      expect(path).not.toContain(id);
      const stored = await fetch(new URL(path, rig.gateway.url), { method: "PUT", body });
      expect(await stored.json()).toMatchObject({ ok: true, name, bytes: body.length });
    };
    const inputs = () =>
      page.evaluate(`Promise.all([...document.querySelectorAll("input")].map(async ({ files }) =>
        Promise.all([...files].map(async (file) => [file.name, await file.text()]))))`);
    await bring("Lebenslauf ü.txt", "ten years");
    await bring("b.txt", "bee");
    click(110, 110);
    await asked("one");
    person.send({ type: "files", action: "give", names: ["../etc/passwd"] });
    await person.until(({ texts }) =>
      texts.some((t) => t.type === "error" && t.code === "Malformed"),
    );
    person.send({ type: "files", action: "give", names: ["Lebenslauf ü.txt", "b.txt"] });
    await asked("gone");
    await vi.waitFor(
      async () => expect(await inputs()).toEqual([[["Lebenslauf ü.txt", "ten years"]], []]),
      PATIENCE,
    );
    click(110, 210);
    await asked("several");
    person.send({ type: "files", action: "cancel" });
    await asked("gone");
    click(110, 210);
    await asked("several");
    person.send({ type: "files", action: "give", names: ["b.txt", "Lebenslauf ü.txt"] });
    await vi.waitFor(
      async () =>
        expect(await inputs()).toEqual([
          [["Lebenslauf ü.txt", "ten years"]],
          [
            ["b.txt", "bee"],
            ["Lebenslauf ü.txt", "ten years"],
          ],
        ]),
      PATIENCE,
    );
    const listed = await (await rig.call(`/sessions/${id}/files`)).json();
    expect(listed).toMatchObject({ files: [{ source: "upload" }, { source: "upload" }] });
    await rig.release(id);
  });

  test("one person at a time; observers see nothing meanwhile, and its token opens nothing else", async () => {
    const { id } = await rig.driven("moving");
    const { url, token, handoff } = await rig.liveToken(id);
    // Asked for again, it is the same hand-off.
    const again = await rig.liveToken(id, { timeoutSeconds: 30 });
    expect(again.handoff).toMatchObject({ id: handoff.id, expiresAt: handoff.expiresAt });
    const observer = await rig.watch(id);
    await observer.until(({ frames }) => frames.length > 1);
    const person = await Observer.open(url);
    await person.until(({ frames }) => frames.length > 0);
    await observer.until(({ texts }) =>
      texts.some((t) => t.type === "state" && t.handoff === "active"),
    );
    const before = observer.frames.length;
    expect(await refusalOf(again.url)).toMatch(/^409 Somebody has taken this session over/);
    await person.until(({ frames }) => frames.length > 10);
    expect(observer.frames.length).toBe(before);
    const alias = new URL(url).pathname.split("/").at(-1) ?? "";
    const watching = await rig.observeToken(id);
    for (const path of [
      `/ws/observe/${alias}?token=${token}`,
      `/ws/observe/${id}?token=${token}`,
      `/ws/live/${alias}?token=${watching.token}`,
      `/ws/live/${alias}`,
      `/ws/${alias}`,
      `/cdp/${token}`,
    ])
      expect(await refusalOf(rig.socketUrl(path))).toMatch(/^401 /);
    expect(await refusalOf(rig.socketUrl(`/ws/live/${id}`), rig.key)).toMatch(/^401 /);
    // Who leaves without a word may come back.
    person.close();
    await vi.waitFor(async () => {
      const back = await Observer.open(again.url);
      back.send({ type: "handoff", action: "cancel" });
      await back.until(({ closed }) => closed !== null);
    }, PATIENCE);
    await observer.until(({ frames }) => frames.length > before);
    await rig.release(id);
  });

  test("a hand-off holds its session without a client, which has its grace anew when it is over", async () => {
    const { id, browser } = await rig.driven();
    const { url } = await rig.liveToken(id);
    const person = await Observer.open(url);
    await person.until(({ last }) => last !== undefined);
    await browser.close();
    const closedAt = Date.now();
    while (Date.now() < closedAt + 2 * LIMITS.lingerMs)
      expect((await rig.read(id)).status).toBe("active");
    person.send({ type: "handoff", action: "cancel" });
    await vi.waitFor(
      async () => expect(await rig.read(id)).toMatchObject({ closeReason: "client_disconnected" }),
      PATIENCE,
    );
  });
}
