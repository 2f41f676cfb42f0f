/** Labels of a machine or a snapshot. */
export type Labels = Readonly<Record<string, string>>;

/** Labels as a filter of a list. */
export const labelsQuery = (labels: Labels = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).map(([key, value]) => [`metadata.${key}`, value]));
