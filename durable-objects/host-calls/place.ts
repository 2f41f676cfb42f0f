/** Where a session or sandbox runs: its host, that host's URL and start, and the host's count when it was placed. */
export interface Place {
  hostId: string;
  url: string;
  bootId: string;
  seq: number;
}

/** A start of a host: host id and boot id. */
export type HostStart = Pick<Place, "hostId" | "bootId">;

/** Whether something is placed at this start of this host. */
export const isAt = (place: Place | null, { hostId, bootId }: HostStart): boolean =>
  place?.hostId === hostId && place.bootId === bootId;

/** Where something is by a host's answer. */
export function placeAt(
  { hostId, url }: Pick<Place, "hostId" | "url">,
  { bootId, seq }: Pick<Place, "bootId" | "seq">,
): Place {
  return { hostId, url, bootId, seq };
}
