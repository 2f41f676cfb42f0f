/** An event of rrweb, and where it was. What else it holds was recorded from a stranger's page. */
export interface ReplayEvent {
  type: number;
  data: Record<string, unknown>;
  timestamp: number;
  tabId?: string;
  frameId?: string;
}

/** Events of a replay. `fault`: why the rest is missing; null when all of it was read. */
export interface ReadReplay {
  events: ReplayEvent[];
  fault: string | null;
}

/** The largest type of an event that rrweb 2.1 knows. */
const LAST_TYPE = 6;
/** Text that is looked at: its events take several times as much memory. */
const MOST_CHARACTERS = 192 * 1024 * 1024;
const TOO_LONG = "The replay is too long to be played to its end here: download it.";
const DAMAGED = "The file of the replay ends early or is damaged: what could be read is played.";

/** Reads newline-delimited JSON, packed as gzip. What cannot be read is left out. */
export async function readReplay(
  packed: ReadableStream<Uint8Array<ArrayBuffer>>,
  mostCharacters = MOST_CHARACTERS,
): Promise<ReadReplay> {
  const events: ReplayEvent[] = [];
  const reader = packed
    .pipeThrough(new DecompressionStream("gzip"))
    .pipeThrough(new TextDecoderStream())
    .getReader();
  // Pieces of the line that has not ended: joined once, however many they are.
  let pieces: string[] = [];
  let characters = 0;
  let fault: string | null = null;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      characters += value.length;
      if (characters > mostCharacters) {
        fault = TOO_LONG;
        void reader.cancel();
        break;
      }
      pieces.push(value);
      if (!value.includes("\n")) continue;
      const lines = pieces.join("").split("\n");
      pieces = [lines.pop() ?? ""];
      for (const line of lines) take(line, events);
    }
  } catch {
    fault = DAMAGED;
  }
  take(pieces.join(""), events);
  return { events, fault };
}

function take(line: string, events: ReplayEvent[]): void {
  const event = parse(line);
  if (isEvent(event)) events.push(event);
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

function isEvent(value: unknown): value is ReplayEvent {
  if (!isObject(value)) return false;
  const { type, data, timestamp, tabId, frameId } = value;
  return (
    Number.isInteger(type) &&
    Number(type) >= 0 &&
    Number(type) <= LAST_TYPE &&
    isObject(data) &&
    Number.isFinite(timestamp) &&
    (tabId === undefined || typeof tabId === "string") &&
    (frameId === undefined || typeof frameId === "string")
  );
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
