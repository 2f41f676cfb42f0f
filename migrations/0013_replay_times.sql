-- Until when a replay that is not there yet is waited for, and until when one is kept. Null: a row of before, or of a
-- host's report alone.
ALTER TABLE replays ADD COLUMN pending_until INTEGER;
ALTER TABLE replays ADD COLUMN keep_until INTEGER;
CREATE INDEX replays_keep_until ON replays (keep_until);
