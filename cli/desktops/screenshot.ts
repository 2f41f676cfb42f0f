import { writeFile } from "node:fs/promises";
import type { Cli } from "../cli.ts";
import { write } from "../terminal/pipes.ts";

/** Writes a picture of a desktop's screen into a file. */
export async function screenshot(
  cli: Cli,
  id: string,
  { output }: { output: string },
): Promise<void> {
  const box = await (await cli.svc()).sandboxes.connect(id);
  const format = /\.jpe?g$/i.test(output) ? "jpeg" : "png";
  const { bytes, width, height } = await box.computer.screenshot({ format, quality: 80, scale: 1 });
  if (output === "-") return write(process.stdout, bytes);
  await writeFile(output, bytes);
  cli.print({ file: output, width, height }, `${output}  ${width}x${height}`);
}
