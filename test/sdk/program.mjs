// The small program that test/sdk/runtimes.test.ts runs in every runtime: nothing in it is of one of them.

/**
 * @param {typeof import("@svc/sdk/index.ts")} sdk
 * @param {{ apiKey: string, baseUrl: string, path: string, WebSocket?: any }} given
 */
export async function program({ Svc }, { apiKey, baseUrl, path, WebSocket }) {
  const svc = new Svc({ apiKey, baseUrl, WebSocket });
  const box = await svc.sandboxes.create({ metadata: { made: "here" } });
  const { stdout } = await box.commands.sh("echo $((40 + 2)); cat", { stdin: "größe" });
  await box.files.write(path, "größe");
  const read = await box.files.read(path);
  let streamed = "";
  for await (const { data } of box.commands.stream("printf", ["%s", "a", "b"])) streamed += data;
  await box.transfer.upload("/up.txt", new Blob(["signed"]).stream());
  const signed = await new Response(await box.transfer.download("/up.txt")).text();
  let listed = 0;
  for await (const { sandboxId } of svc.sandboxes.list({ metadata: { made: "here" } }))
    if (sandboxId === box.id) listed += 1;
  /** @type {any} */
  const refused = await svc.browsers.release("nobody").catch((error) => error);
  await box[Symbol.asyncDispose]();
  const { state } = await svc.sandboxes.get(box.id);
  return { stdout, read, streamed, signed, listed, refused: [refused.name, refused.code], state };
}
