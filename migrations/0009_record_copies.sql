-- Which host was last asked to go on from a record of another host: a repeat finds there what was fetched so far.
CREATE TABLE record_copies (
  record_id TEXT PRIMARY KEY,
  host_id TEXT NOT NULL,
  asked_at INTEGER NOT NULL
) WITHOUT ROWID;
