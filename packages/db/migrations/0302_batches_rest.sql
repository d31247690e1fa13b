-- Whether rows of the list hold something that has no column: its result has one more then.
alter table batches add column has_rest boolean not null default false;
