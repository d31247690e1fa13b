-- When the whole store was last looked through for files that no batch names; in between only new ones are.
alter table file_store_owner add column looked_through_at timestamptz;
