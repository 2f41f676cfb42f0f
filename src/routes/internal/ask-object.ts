import { ApiError } from "@svc/contract/errors.ts";
import { AskObject, type ObjectUrls } from "@svc/contract/host-protocol/objects.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { ask } from "../../../control-plane/database.ts";
import { beginUpload, objectKey } from "../../../control-plane/objects.ts";
import { keepRecording } from "../../../control-plane/recordings.ts";
import { parseBody } from "../../body.ts";
import { type AppContext, baseUrlOf, type Handler } from "../../context.ts";
import { signedUrl } from "../../object-url.ts";

const { objectPartBytes } = LIMITS;

export const askObject: Handler = async (c) => {
  const { object, sizeBytes, ifEtag, delete: isToGo } = await parseBody(c, AskObject);
  const key = objectKey(object);
  const expiresInSeconds = LIMITS.hostObjectUrlMs / 1000;
  if (isToGo) {
    await ask(c.env.OBJECTS, () => c.env.OBJECTS.delete(key));
    return c.json({ expiresInSeconds } satisfies ObjectUrls);
  }
  const bytes = sizeBytes;
  if (object.purpose === "recording" && bytes !== undefined) await checkRecorded(c, object);
  const urls =
    bytes === undefined ? await toRead(c, key) : await toStore(c, { key, bytes, ifEtag });
  return c.json({ expiresInSeconds, ...urls } satisfies ObjectUrls);
};

/** Nothing would ever delete the part of a recording that is no more. */
async function checkRecorded(
  c: AppContext,
  { org: orgId, sandbox: sandboxId }: { org: string; sandbox: string },
): Promise<void> {
  if (!(await keepRecording(c.env.DB, { orgId, sandboxId }, Date.now())))
    throw new ApiError("ObjectNotFound", "There is no such recording any more.");
}

const expiry = (): number => Date.now() + LIMITS.hostObjectUrlMs;

async function toRead(c: AppContext, key: string): Promise<Partial<ObjectUrls>> {
  const { OBJECTS } = c.env;
  const found = await ask(OBJECTS, () => OBJECTS.head(key));
  if (!found) throw new ApiError("ObjectNotFound", "There is no such object.");
  const contentType = "application/octet-stream";
  const claims = { act: "get", key, contentType, expiresAt: expiry() } as const;
  return {
    get: await signedUrl(c.env, baseUrlOf(c), claims),
    sizeBytes: found.size,
    etag: found.etag,
  };
}

interface Wanted {
  key: string;
  bytes: number;
  ifEtag: string | null | undefined;
}

async function toStore(
  c: AppContext,
  { key, bytes, ifEtag }: Wanted,
): Promise<Partial<ObjectUrls>> {
  const base = baseUrlOf(c);
  const common = { key, expiresAt: expiry() };
  if (bytes <= objectPartBytes) {
    const claims = { act: "put", ...common, bytes } as const;
    return {
      put: await signedUrl(c.env, base, { ...claims, ...(ifEtag !== undefined && { ifEtag }) }),
    };
  }
  if (ifEtag !== undefined) {
    const text = `ifEtag: an object of more than ${objectPartBytes} bytes has no condition`;
    throw new ApiError("ValidationError", text, { field: "ifEtag" });
  }
  const upload = await beginUpload(c.env.OBJECTS, key);
  const parts = await Promise.all(
    sizesOf(bytes).map(async (size, at) => {
      const claims = { act: "part", ...common, bytes: size, upload, number: at + 1 } as const;
      return { url: await signedUrl(c.env, base, claims), bytes: size };
    }),
  );
  const complete = await signedUrl(c.env, base, { act: "complete", ...common, bytes, upload });
  return { parts, complete };
}

/** Of parts that are all full but the last one. */
function sizesOf(bytes: number): number[] {
  const count = Math.ceil(bytes / objectPartBytes);
  return Array.from({ length: count }, (_, at) =>
    Math.min(objectPartBytes, bytes - at * objectPartBytes),
  );
}
