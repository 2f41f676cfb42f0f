/**
 * The condition that a row of a table has every label of a list. Bound to the list as JSON pairs: one value, since SQLite
 * takes a hundred in a statement.
 */
export const hasLabels = (table: string): string =>
  `NOT EXISTS (SELECT 1 FROM json_each(?) AS wanted WHERE NOT EXISTS (
  SELECT 1 FROM json_each(${table}.metadata) AS label
  WHERE label.key = wanted.value ->> 0 AND label.value = wanted.value ->> 1))`;
