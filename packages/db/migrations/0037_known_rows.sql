-- Why a task waits, as its engine says it.
alter table tasks add column reason text;
-- Rows of an open chunk of several checks whose last outcome is known; of one check it follows from `remaining`.
alter table chunks add column known_count integer not null default 0;
