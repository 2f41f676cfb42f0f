-- What is billed now: the few rows that a look for those that nobody has ended goes through.
CREATE INDEX usage_segments_open ON usage_segments (started_at) WHERE ended_at IS NULL;
