-- What the hosts say of recordings. The object's name follows from org and session.
CREATE TABLE replays (
  session_id TEXT PRIMARY KEY,
  org_id TEXT NOT NULL,
  state TEXT NOT NULL,
  size_bytes INTEGER,
  events INTEGER,
  updated_at INTEGER NOT NULL
);
