-- Whose files are to go: what an account wants erased is gone only when they are. Unknown of those noted before.
alter table file_removals add column account_id text;
