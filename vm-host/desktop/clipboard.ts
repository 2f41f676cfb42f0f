import { CHANNELS } from "@svc/contract/control-channel/binary-frame.ts";
import { CLIPBOARD_BYTES } from "@svc/contract/control-channel/computer-methods.ts";
import { refuse } from "@svc/contract/control-channel/refusals.ts";
import { RPC_CODES, RpcError } from "@svc/contract/control-channel/rpc-error.ts";
import type { Guest } from "../guest/guest.ts";
import { type Shell, ask } from "./shell.ts";

const SET_MS = 30_000;
const OUT = "xclip -selection clipboard -out -target UTF8_STRING";
/** No more of a clipboard is read than tells that it is too long. */
const READ = `${OUT} | head -c ${CLIPBOARD_BYTES + 1}`;
/**
 * The program that holds the text lives on until another one takes the clipboard. It has the clipboard a moment after it
 * has gone into the background: what is read then is compared.
 */
const WRITE = `export LC_ALL=C.UTF-8
text=$(mktemp) && cat > "$text" || exit
trap 'rm -f "$text"' EXIT
xclip -selection clipboard -in "$text" >/dev/null 2>&1 || exit
for try in 1 2 3 4 5 6 7 8 9 10; do
  ${OUT} 2>/dev/null | cmp -s - "$text" && exit
  sleep 0.1
done
exit 1`;

/** The text of the clipboard; "" where it has none. */
export async function readClipboard(shell: Shell, signal: AbortSignal): Promise<string> {
  const { stdout, stderr, truncated } = await ask(shell, READ, [], signal);
  if (truncated || Buffer.byteLength(stdout) > CLIPBOARD_BYTES)
    throw refuse("TooLarge", `The clipboard has more than ${CLIPBOARD_BYTES} bytes.`);
  // Nobody owns the clipboard, or it has a picture.
  if (stdout === "" && stderr !== "" && !stderr.includes("not available"))
    throw refuse("Disconnected", "The desktop does not tell its clipboard.");
  return stdout;
}

export async function writeClipboard(
  { files }: Pick<Guest, "files">,
  text: string,
  signal: AbortSignal,
): Promise<void> {
  if (!text.isWellFormed())
    throw new RpcError(RPC_CODES.params, "text: has half of a character", { field: "text" });
  const bytes = Buffer.from(text);
  if (bytes.length > CLIPBOARD_BYTES)
    throw refuse("TooLarge", `The clipboard takes ${CLIPBOARD_BYTES} bytes of UTF-8 at most.`);
  const command = { cmd: "sh", args: ["-c", WRITE], stream: true, timeoutMs: SET_MS };
  const options = { signal, limitMs: 2 * SET_MS };
  const { stream, result } = files.call("commands.run", command, options);
  // A refusal ends the stream, and is told by the result.
  void stream.write(CHANNELS.input, bytes).then(
    () => stream.end(CHANNELS.input),
    () => null,
  );
  if ((await result).exitCode !== 0)
    throw refuse("Disconnected", "The desktop did not take the text.");
}
