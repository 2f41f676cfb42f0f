-- Records in the object store that nothing named when they were last looked at, and since when.
CREATE TABLE orphans (
  prefix TEXT PRIMARY KEY,
  found_at INTEGER NOT NULL
) WITHOUT ROWID;

-- How far the scheduled job has come in looking through them; one row.
CREATE TABLE orphan_sweep (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  -- It goes on behind this key.
  after_key TEXT NOT NULL,
  -- Not before that.
  begin_at INTEGER NOT NULL
);
