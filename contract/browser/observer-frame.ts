import { FrameHead } from "./observer.ts";

const LENGTH_BYTES = 2;

/** One binary message for a frame, so that picture and facts cannot be parted: `u16be n | n bytes of JSON | JPEG`. */
export function encodeFrame(head: FrameHead, jpeg: Uint8Array): Uint8Array<ArrayBuffer> {
  const json = new TextEncoder().encode(JSON.stringify(head));
  const message = new Uint8Array(LENGTH_BYTES + json.length + jpeg.length);
  new DataView(message.buffer).setUint16(0, json.length);
  message.set(json, LENGTH_BYTES);
  message.set(jpeg, LENGTH_BYTES + json.length);
  return message;
}

/** The parts of a frame; null when the message is none. */
export function decodeFrame(message: Uint8Array): { head: FrameHead; jpeg: Uint8Array } | null {
  if (message.length < LENGTH_BYTES) return null;
  const { buffer, byteOffset } = message;
  const end = LENGTH_BYTES + new DataView(buffer, byteOffset).getUint16(0);
  if (message.length < end) return null;
  try {
    const text = new TextDecoder().decode(message.subarray(LENGTH_BYTES, end));
    const head = FrameHead.safeParse(JSON.parse(text));
    return head.success ? { head: head.data, jpeg: message.subarray(end) } : null;
  } catch {
    return null;
  }
}
