import { bytesOf, type Data, joined } from "../bytes.ts";
import type { RawRequest } from "./client.ts";

/** A request with raw bytes. A stream is sent as it comes, in one attempt. */
export async function withBody({ init, ...request }: RawRequest, data: Data): Promise<RawRequest> {
  const isStream = data instanceof ReadableStream;
  const body = isStream && !canSendStreams() ? await whole(data) : data;
  const sent = body as NonNullable<RequestInit["body"]>;
  const duplex = isStream && { duplex: "half" as const };
  return {
    ...request,
    init: { ...init, method: "PUT", body: sent, ...duplex },
    isLong: true,
    isUnrepeatable: isStream,
  };
}

async function whole(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of bytesOf(stream)) parts.push(part);
  return joined(parts);
}

/** Browsers send a stream over HTTP/2 alone, and fail over anything else. */
const canSendStreams = (): boolean => !("document" in globalThis || "importScripts" in globalThis);
