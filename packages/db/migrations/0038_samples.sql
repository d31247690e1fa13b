-- A sample of a batch runs as a batch of its own that nobody sees: its outcomes and what they cost go over to
-- the batch when it has ended, so that nothing is asked or charged twice.
alter table batches add column sample_of text references batches (id) on delete cascade;
-- Of a sample: chunk and place in it of each of its rows.
alter table batches add column sample_places jsonb;
-- Of a batch: the sample that holds, and what those have cost that a change has voided.
alter table batches add column sample_id text;
alter table batches add column credits_voided bigint not null default 0;
create index batches_samples on batches (sample_of) where sample_of is not null;
-- What a sample has paid of a chunk.
alter table chunks add column prepaid integer not null default 0;
