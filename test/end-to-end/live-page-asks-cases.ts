import type { Dialog, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LivePageRig, PATIENCE, has } from "../support/process/live-page-rig.ts";

/** The dialogs of the page, which the person answers. */
export function dialogCases(rigOf: () => LivePageRig): void {
  let rig: LivePageRig;
  let person: Page;
  beforeAll(async () => {
    rig = rigOf();
    person = await rig.person("asks");
  });
  afterAll(() => rig.end(person));

  const told = (): Promise<unknown> => rig.page.evaluate("told");
  const message = () => person.locator("#dialog-message").textContent();
  async function asked(by: string): Promise<void> {
    await rig.click(by, person);
    await person.locator("#dialog[open]").waitFor(PATIENCE);
  }

  test("an alert is shown as plain text, with the host that says it, and goes by OK", async () => {
    await asked("#alerts");
    expect(await message()).toBe("<b>Look</b>");
    expect(await person.locator("#dialog-from").textContent()).toContain(rig.site.address);
    expect(await person.locator("#dialog-no").isVisible()).toBe(false);
    await person.locator("#dialog-yes").click();
    await expect.poll(told).toBe("looked");
  });

  test("a question is answered by its buttons, and by Escape with no", async () => {
    await asked("#confirms");
    await person.locator("#dialog-yes").click();
    await expect.poll(told).toBe(true);
    await asked("#confirms");
    await person.keyboard.press("Escape");
    await expect.poll(told).toBe(false);
  });

  test("a prompt has its text before it and is answered by keyboard alone", async () => {
    await asked("#prompts");
    expect(await person.locator("#dialog-text").inputValue()).toBe("nobody");
    await person.locator("#dialog-text:focus").waitFor(PATIENCE);
    await person.keyboard.press("Control+A");
    await person.keyboard.type("Ada");
    await person.keyboard.press("Enter");
    await expect.poll(told).toBe("Ada");
    // What is typed next is the page's again.
    await person.locator("#keys:focus").waitFor(PATIENCE);
  });

  test("a dialog that a client answers goes, and what was clicked meanwhile is not done after", async () => {
    const opened = new Promise<Dialog>((resolve) => rig.page.once("dialog", resolve));
    await asked("#prompts");
    const { x, y } = await rig.boxOf("#picture", person);
    await person.mouse.click(x + 20, y + 20);
    await (await opened).accept("by program");
    await person.locator("#dialog:not([open])").waitFor({ ...PATIENCE, state: "attached" });
    expect(await told()).toBe("by program");
  });

  test("a page that asks without end keeps nobody from giving the session back", async () => {
    const { id, page } = await rig.another();
    const { liveUrl } = await rig.begin({}, id);
    const other = await rig.window(liveUrl);
    await has(other);
    await rig.show("asks", other, page);
    await rig.click("#endless", other, page);
    await other.locator("#dialog[open]").waitFor(PATIENCE);
    for (let times = 0; times < 3; times += 1) await other.locator("#dialog-yes").click();
    await other.locator("#dialog[open]").waitFor(PATIENCE);
    await other.locator("#done").click();
    await expect.poll(() => other.locator("#over-title").textContent()).toBe("Done");
    await other.context().close();
    await rig.watching.release(id);
  });
}

/** Files of the person that the page wants. */
export function fileCases(rigOf: () => LivePageRig): void {
  let rig: LivePageRig;
  let person: Page;
  beforeAll(async () => {
    rig = rigOf();
    person = await rig.person("files");
  });
  afterAll(() => rig.end(person));

  interface Given {
    name: string;
    bytes: number[];
  }
  const given = (id: string): Promise<Given[]> =>
    rig.page.evaluate(`Promise.all([...document.getElementById("${id}").files].map(async (file) =>
      ({ name: file.name, bytes: [...new Uint8Array(await file.arrayBuffer())] })))`);
  const fileOf = (name: string, bytes: number[]) => ({
    name,
    mimeType: "application/octet-stream",
    buffer: Buffer.from(bytes),
  });
  async function wanted(by: string) {
    await rig.click(by, person);
    await person.locator("#files[open]").waitFor(PATIENCE);
    return person.locator("#files-input");
  }

  test("a file that they choose is in the page, by its name and byte for byte", async () => {
    const bytes = Array.from({ length: 256 }, (_, at) => at);
    await (await wanted("#single")).setInputFiles(fileOf("Zeugnis (2) – 日本.bin", bytes));
    await expect.poll(() => given("single")).toEqual([{ name: "Zeugnis (2) – 日本.bin", bytes }]);
  });

  test("nothing is given by who chooses nothing, and the page may ask again", async () => {
    await wanted("#several");
    await person.locator("#files-no").click();
    await person.locator("#files:not([open])").waitFor({ ...PATIENCE, state: "attached" });
    await wanted("#several");
    await person.keyboard.press("Escape");
    await wanted("#several");
    await person.locator("#files-no").click();
    expect(await given("several")).toEqual([]);
  });

  test("several come together, also under names that no file of a session may have", async () => {
    const long = `${"長".repeat(120)}.txt`;
    const input = await wanted("#several");
    await input.setInputFiles([
      fileOf("a.txt", [1]),
      fileOf("b\u202Etxt.exe", [2]),
      fileOf(long, [3]),
      fileOf("empty", []),
    ]);
    await expect
      .poll(() => given("several"))
      .toEqual([
        { name: "a.txt", bytes: [1] },
        { name: "b_txt.exe", bytes: [2] },
        { name: `${"長".repeat(83)}.txt`, bytes: [3] },
        { name: "empty", bytes: [] },
      ]);
  });
}
