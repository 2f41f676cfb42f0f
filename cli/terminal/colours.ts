import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

/** Whether a stream shows colours: a terminal does, unless NO_COLOR forbids it (no-color.org) or it is a dumb one. */
export const hasColours = (stream: NodeJS.WriteStream): boolean =>
  stream.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== "dumb";

/** A text in a style, where the stream shows colours. */
export const styled = (
  style: Style,
  text: string,
  stream: NodeJS.WriteStream = process.stdout,
): string => (hasColours(stream) ? styleText(style, text, { validateStream: false }) : text);
