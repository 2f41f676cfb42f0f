import { StorageState } from "@svc/contract/browser/storage-state.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { messageOf } from "@svc/host-kit/log.ts";
import { ProfileFault } from "./fault.ts";

/** Fetches the state of a profile from the gateway. The path is signed: no other credential goes with it. */
export async function fetchState(
  gatewayUrl: string,
  statePath: string,
  signal: AbortSignal,
): Promise<StorageState> {
  const init: RequestInit = { signal, redirect: "error" };
  const bytes = await fetch(new URL(statePath, gatewayUrl), init).then(bytesOf);
  return stateOf(bytes);
}

async function bytesOf(response: Response): Promise<Buffer> {
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`the gateway answered ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    // Leaving the loop ends the connection.
    if (size > LIMITS.profileStateBytes)
      throw unloadable(`it is above ${LIMITS.profileStateBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function stateOf(bytes: Buffer): StorageState {
  const parsed = StorageState.safeParse(jsonOf(bytes));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw unloadable(`${issue?.path.join(".") ?? ""}: ${issue?.message ?? "invalid"}`);
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    throw unloadable("it is not JSON");
  }
}

const unloadable = (why: string): ProfileFault =>
  new ProfileFault(
    "ProfileUnloadable",
    `The storage state of the profile cannot be loaded: ${why}. Save the profile again.`,
  );

/** The fault that a customer is told when a fetch has failed. */
export function faultOfFetch(error: unknown): ProfileFault {
  if (error instanceof ProfileFault) return error;
  const why = messageOf(error);
  return new ProfileFault("ProfileUnavailable", `The profile could not be fetched: ${why}.`);
}
