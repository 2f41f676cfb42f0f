-- When an org's credit was given: what was used before is not taken from it. NULL: all that was ever used is.
ALTER TABLE orgs ADD COLUMN credit_since INTEGER;
