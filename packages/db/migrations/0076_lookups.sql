-- A lookup whose answer may come later is a batch of one record, which no listing of batches shows.
alter table batches add column is_lookup boolean not null default false;
