-- Tasks of the chunks from this one on are not made yet: that is done in steps while the batch runs; null
-- where all are made.
alter table batches add column tasks_from integer;
-- What of a batch is still to be erased, in steps: its chunks, or all of it. One of which all goes is no
-- longer shown to anybody.
alter table batches add column erasing text check (erasing in ('chunks', 'all'));
create index batches_starting on batches (tasks_from) where tasks_from is not null;
create index batches_erasing on batches (id) where erasing is not null;
