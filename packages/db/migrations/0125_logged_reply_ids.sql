-- A standby that is promoted has no page of an unlogged sequence ("bad magic number in sequence"), and no reply could be
-- posted on it. The replies themselves may be lost; what numbers them must be there.
alter sequence live_replies_id_seq set logged;
