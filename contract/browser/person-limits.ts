/** Limits of the messages of a person on `/ws/live`: the person's page keeps to them, and the gateway holds everybody to them. */
export const PERSON_LIMITS = {
  /** Characters of a text that is pasted. */
  textCharacters: 32_768,
  /** Pixels of a place and of a turn of the wheel, to each side. */
  pixels: 10_000,
  /** Files that a page is given at once. */
  files: 16,
} as const;
