-- What the chunks of a large batch that is worked on added up to some seconds ago: a page of batches is shown from it.
alter table batches add column running_sums jsonb;
